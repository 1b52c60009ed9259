package conformance

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// delayed: a drain that includes what is delayed runs it now, and each retry of it, in
// every queue; without that it stays where it is.
func lifeDelayed(l *life) {
	ids := []domain.JobID{
		l.put(memo{}, enqueue.After(time.Hour)), l.put(memo{}, enqueue.After(30*24*time.Hour), enqueue.Queue("other")),
	}
	h := func(_ context.Context, j work.Job[memo]) error {
		if j.Attempt < 3 {
			return work.RetryAfter(time.Hour, errFailed)
		}
		return nil
	}
	equal(l.rig, "drained", l.drain(h), driving.Drained{})
	for _, id := range ids {
		l.inState(id, domain.Scheduled)
	}
	r := l.leased(patience, l.store, h)
	got, err := r.Drain(l.Context(), driving.DrainOptions{Limit: patience, IncludeDelayed: true})
	l.ok("drain", err)
	l.stop(r)
	equal(l.rig, "drained with what is delayed", got, driving.Drained{Completed: 2, Retried: 4})
	for _, id := range ids {
		l.inState(id, domain.Done)
	}
}
