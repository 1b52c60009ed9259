package rowlock

import (
	"context"

	"github.com/rowlock/rowlock/application/batches"
)

// Batch makes a batch with its members and seals it: when all of them have ended, its
// callback is enqueued, once.
//
//	made, err := q.Batch(ctx, batches.Options{Name: "newsletter", Callback: Sent{Issue: 7}}, batches.Of(items...))
//
// With batches.Build in place of batches.Of a function adds the members.
func (q *Queue) Batch(ctx context.Context, o batches.Options, forms ...batches.Form) (batches.Made, error) {
	return q.Batches().Make(ctx, o, forms...)
}

// Batches is for open batches, which are added to and sealed by their id from any
// process, and for looking at batches.
func (q *Queue) Batches() *batches.Service {
	return batches.New(batches.Deps{Store: q.backend.Store, Client: q.Client, IDs: q.ids, Observer: q.observer, Wake: q.wake})
}
