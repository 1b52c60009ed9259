package operate

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	wakeBatch = 200 // keys in one call
	wakeTime  = 10 * time.Second
)

// waker makes ready who waits for a turn that an edit may have let come. That is
// after the write and cannot fail it: what is not woken now, the next sweep wakes.
type waker struct {
	slots    driven.Slots
	others   driven.Notifier
	observer driven.Observer
}

func wakerOf(d Deps) waker { return waker{slots: d.Store, others: d.Wake, observer: d.Observer} }

// after is an edit that may let another job's turn come.
func (w waker) after(do edit) edit {
	return func(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
		edited, err := do(ctx, req)
		var keys []string
		for _, e := range edited {
			if e.Err == nil {
				keys = append(keys, e.Keys...)
			}
		}
		w.wake(ctx, keys)
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
			w.report(err)
			return jobs
		}
		jobs += woken.Jobs
		if w.others != nil && len(woken.Queues) > 0 {
			w.others.Notify(woken.Queues...)
		}
	}
	return jobs
}

// report tells the observer. One that panics must not fail what was written.
func (w waker) report(err error) {
	if w.observer == nil {
		return
	}
	defer func() { _ = recover() }()
	w.observer.Observe(domain.Event{Type: domain.EventError, Operation: "wake", Err: err})
}
