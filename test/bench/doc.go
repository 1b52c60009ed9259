// Package bench measures what a job costs on any store: exported benchmarks
// that a store's own tests call with a way to open it.
//
//	func BenchmarkWork(b *testing.B) { bench.Work(b, open) }
//
// An operation is one job. Beside the time it reports the processor time of the
// process (cpu-us/job), which other processes on the machine disturb least; a
// server's own time is not in it.
//
// It may import domain, the ports and the application, and must not know any
// adapter: a Kit brings the store, ids and clock.
package bench
