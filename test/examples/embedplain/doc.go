// Command embedplain is Rowlock inside a plain Go program: a handler, a few
// enqueues, and work until everything is done, on a throw-away SQLite file.
//
// It may import what a host would and must not know how Rowlock is put together:
// bootstrap/rowlock and application/{enqueue,work} are all of it.
package main
