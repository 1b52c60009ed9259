// Package enqueue is for adding jobs: one, many at once, inside the host's own
// transaction, as raw JSON, or run here and now.
//
// It may import domain, ports and application/work and must not know who runs
// the jobs. It works without a registry of handlers, so that a handler may
// enqueue and a process without handlers too.
package enqueue
