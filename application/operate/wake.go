package operate

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	wakeBatch   = 200 // keys in one call
	finishBatch = 100 // batches in one call
	wakeTime    = 10 * time.Second
)

// waker makes ready who waits for a turn that an edit may have let come, and finishes
// batches that it left without a member to wait for. That is after the write and
// cannot fail it: what is not done now, the next sweep does.
type waker struct {
	slots    driven.Slots
	batches  driven.Batcher
	others   driven.Notifier
	observer driven.Observer
}

func wakerOf(d Deps) waker {
	return waker{slots: d.Store, batches: d.Store, others: d.Wake, observer: d.Observer}
}

// after is an edit that may let another job's turn come, or end a batch.
func (w waker) after(do edit) edit {
	return func(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
		edited, err := do(ctx, req)
		var keys []string
		var batches []domain.BatchID
		for _, e := range edited {
			if e.Err != nil {
				continue
			}
			keys = append(keys, e.Keys...)
			if !e.Batch.IsZero() {
				batches = append(batches, e.Batch)
			}
		}
		w.wake(ctx, keys)
		w.finish(ctx, batches)
		return edited, err
	}
}

// due is an edit after which runners look at once for what it made due. Which
// queues that is an edit does not say.
func (w waker) due(do edit) edit {
	do = w.after(do)
	return func(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
		edited, err := do(ctx, req)
		if w.others != nil && slices.ContainsFunc(edited, func(e domain.Edited) bool { return e.Err == nil }) {
			w.others.Notify("")
		}
		return edited, err
	}
}

// wake is not broken off by its caller, who has what it came for.
func (w waker) wake(ctx context.Context, keys []string) (jobs int) {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wakeTime)
	defer cancel()
	for chunk := range slices.Chunk(keys, wakeBatch) {
		woken, err := w.slots.Wake(ctx, chunk)
		if err != nil {
			w.observe(domain.Event{Type: domain.EventError, Operation: "wake", Err: err})
			return jobs
		}
		jobs += woken.Jobs
		if w.others != nil && len(woken.Queues) > 0 {
			w.others.Notify(woken.Queues...)
		}
	}
	return jobs
}

// finish looks whether the batches are over. Like wake it is not broken off.
func (w waker) finish(ctx context.Context, ids []domain.BatchID) {
	slices.SortFunc(ids, domain.BatchID.Compare)
	ids = slices.Compact(ids)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wakeTime)
	defer cancel()
	for chunk := range slices.Chunk(ids, finishBatch) {
		done, err := w.batches.FinishBatches(ctx, chunk)
		for i := range done {
			for _, e := range done[i].Events() {
				w.observe(e)
			}
			if w.others != nil && done[i].Queue != "" {
				w.others.Notify(done[i].Queue)
			}
		}
		if err != nil {
			w.observe(domain.Event{Type: domain.EventError, Operation: "finish batches", Err: err})
			return
		}
	}
}

// observe tells the observer. One that panics must not fail what was written.
func (w waker) observe(e domain.Event) {
	if w.observer == nil {
		return
	}
	defer func() { _ = recover() }()
	w.observer.Observe(e)
}
