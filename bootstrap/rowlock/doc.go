// Package rowlock is Rowlock for a plain Go program: open a store, register
// handlers, enqueue, work.
//
//	q, err := rowlock.Open(ctx, "sqlite:app.db", rowlock.Migrate())
//	rowlock.Handle(q, func(ctx context.Context, j work.Job[Welcome]) error { return send(ctx, j.Args) })
//	job, _, err := q.Enqueue(ctx, Welcome{UserID: 42}, enqueue.After(time.Minute))
//	err = q.Work(ctx, rowlock.Concurrency(50)) // until ctx ends, then a graceful stop
//
// It puts the services on a store and the store's neighbours; it decides nothing
// about jobs. It may import everything inward and must not know a command line
// or fx: that is bootstrap/rowlockfx, which links no store.
package rowlock
