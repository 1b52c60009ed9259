// Package domain holds what Rowlock is about: jobs and their states, retry
// policies, unique keys, outcomes, faults and events.
//
// It is pure: every function is total, does no I/O and asks no clock. It may
// import the standard library only (no net, os, database/sql or log) and must
// not know who stores a job or who runs it.
package domain
