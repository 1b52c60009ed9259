// Package runner claims due jobs, runs their handlers and records what came of
// them.
//
// It may import domain, ports and application/work and must not know which
// store it works on, nor who enqueues. Its parts:
//
//   - a lane claims for one queue, or for all of them, and feeds a fixed number
//     of worker goroutines;
//   - the completer writes outcomes, gathering while a write is in flight or short
//     jobs wait for a worker;
//   - the keepers renew leases, watch over them and say that the runner lives,
//     each in a goroutine of its own, so that no handler can hold them up.
//
// A claim that the runner cannot vouch for is given up: its handler's context
// ends with ErrLeaseLost and its result is not recorded. So it is, with ErrCancelled,
// when a renewal finds that an operator cancelled the job. Every write is fenced
// by the claim's token, so being wrong about it is harmless.
package runner
