// Package rowlocktest helps a host to test what it enqueues and what its handlers
// do, without a database: a queue in memory, which ends with the test, and looks at
// what was enqueued.
//
//	q := rowlocktest.Open(t)
//	rowlock.Handle(q, welcome)
//	signUp(ctx, q)                                                  // the host's own code
//	rowlocktest.RequireEnqueued(t, q, Welcome{UserID: 42}, rowlocktest.Queue("mail"))
//	rowlocktest.Drain(t, q)                                         // runs what is due
//	rowlocktest.DrainDelayed(t, q)                                  // and what is due later, retries too
//
// In a bubble of testing/synctest time is the bubble's: Pass lets a week of retries
// and schedules go by in a moment.
//
// It may import the facade, the application and the memory store; nothing of Rowlock
// imports it.
package rowlocktest
