// Package customadapter is a whole job store of somebody else's, to start your
// own from: jobs in an append-only file of JSON, read into memory at the start.
//
// It shows what an adapter needs. One function opens it and gives a
// driven.Backend. One helper makes a method a transaction: what it changes is one
// line of the file, so it is there as a whole or not at all. One clock, the
// store's, judges every due time and lease. And one line in a test proves it:
//
//	conformance.Run(t, open)
//
// It looks through all jobs where a database has an index, serves one process at
// a time, and leaves syncing to the operating system: fine for thousands of jobs.
// It has no optional capability, so those fields of its Backend are nil.
//
// It may import domain and ports/driven only, like every adapter.
package customadapter
