package batches

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// finishTime bounds the look at a batch that was just sealed.
const finishTime = 10 * time.Second

// finish looks whether a sealed batch is over. The seal is written and stands: the
// look is not broken off by the caller, and where it fails the sweep looks again.
func (s *Service) finish(ctx context.Context, id domain.BatchID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	done, err := s.deps.Store.FinishBatches(ctx, []domain.BatchID{id})
	if err != nil {
		s.observe(domain.Event{Type: domain.EventError, Operation: "finish batches", Batch: id, Err: err})
	}
	for i := range done {
		for _, e := range done[i].Events() {
			s.observe(e)
		}
		if s.deps.Wake != nil && done[i].Queue != "" {
			s.deps.Wake.Notify(done[i].Queue)
		}
	}
}

// observe tells the observer. One that panics must not fail what was written.
func (s *Service) observe(e domain.Event) {
	if s.deps.Observer == nil {
		return
	}
	defer func() { _ = recover() }()
	s.deps.Observer.Observe(e)
}
