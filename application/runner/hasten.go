package runner

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// hasten makes due what is delayed of the handled kinds, retries and snoozes among it,
// and says how many jobs. What is paused keeps its time.
func (s *session) hasten(ctx context.Context) (n int, err error) {
	done := make(map[string]bool)
	for _, l := range s.lanes {
		queues := l.turns.fixed
		if len(queues) == 0 {
			if queues, err = s.allQueues(ctx); err != nil {
				return n, err
			}
		}
		for _, queue := range queues {
			for _, kind := range s.pauses.open(queue, l.kinds) {
				if at := queue + "\x00" + kind; !done[at] {
					done[at] = true
					some, err := s.hastenKind(ctx, queue, kind)
					if n += some; err != nil {
						return n, err
					}
				}
			}
		}
	}
	return n, nil
}

func (s *session) allQueues(ctx context.Context) (all []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Lease)
	defer cancel()
	for after := ""; ; after = all[len(all)-1] {
		names, err := s.deps.Store.Queues(ctx, after, queuePage)
		all = append(all, names...)
		if err != nil || len(names) < queuePage {
			return all, err
		}
	}
}

func (s *session) hastenKind(ctx context.Context, queue, kind string) (n int, err error) {
	waiting := domain.Filter{States: []domain.State{domain.Scheduled}, Queue: queue, Kind: kind}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Lease)
	defer cancel()
	for page := (domain.Page{Size: domain.MaxPage}); ; {
		ids, err := s.deps.Store.Match(ctx, waiting, page)
		if err != nil || len(ids) == 0 {
			return n, err
		}
		edits, err := s.deps.Store.Reschedule(ctx, driven.EditRequest{IDs: ids, States: waiting.States})
		if err != nil {
			return n, err
		}
		for i := range edits {
			if edits[i].Err == nil { // else somebody else moved it meanwhile
				n++
				s.waker.add(edits[i].Keys...)
			}
		}
		page.Before = ids[len(ids)-1]
	}
}
