package upkeep

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	reapPage    = 500 // slots in one call
	expireBatch = 500
	wakeBatch   = 200 // keys in one call
	loosenBatch = 500
	loosenDepth = 10_000 // of each group's line that one call looks at; a start looks deeper
)

// follow looks after slots and who waits for them: what a crash left is freed
// after its linger, what time frees is free, and whoever may try is made ready. And
// it finishes batches that are over. It redoes what runners do themselves when
// nothing goes wrong. One part that fails keeps no other; a schema without bounds or
// batches has nothing to look after.
func (s *Service) follow(ctx context.Context) {
	for _, part := range []struct {
		operation string
		do        func(context.Context) error
	}{
		{"reap slots", s.reap}, {"expire slots", s.expire}, {"wake", s.wakeBlocked}, {"loosen", s.loosen},
		{"finish batches", s.finishBatches},
	} {
		err := part.do(ctx)
		if err != nil && domain.CodeOf(err) != domain.Unsupported {
			s.fail(ctx, part.operation, err)
		}
	}
}

// bounded is one call of the store's.
func bounded[Q, A any](ctx context.Context, call func(context.Context, Q) (A, error), q Q) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return call(ctx, q)
}

func (s *Service) reap(ctx context.Context) error {
	for after := (domain.Slot{}); ; {
		page, err := bounded(ctx, s.deps.Store.Reap, driven.ReapRequest{After: after, Limit: reapPage, Linger: s.cfg.Linger})
		if err != nil {
			return err
		}
		if page.Orphans > 0 {
			s.observe(domain.Event{Type: domain.EventSlotFreed, Count: page.Orphans})
		}
		if !page.More {
			return nil
		}
		after = page.Last
	}
}

func (s *Service) expire(ctx context.Context) error {
	for {
		answer, err := bounded(ctx, s.deps.Store.Expire, expireBatch)
		if err != nil {
			return err
		}
		if err := s.wakeKeys(ctx, answer.Keys); err != nil || !answer.More || len(answer.Keys) == 0 {
			return err
		}
	}
}

// wakeBlocked wakes every key that somebody waits for.
func (s *Service) wakeBlocked(ctx context.Context) error {
	page := func(ctx context.Context, after string) ([]string, error) {
		return s.deps.Store.BlockedKeys(ctx, after, wakeBatch)
	}
	for after := ""; ; {
		keys, err := bounded(ctx, page, after)
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := s.wakeKeys(ctx, keys); err != nil {
			return err
		}
		after = keys[len(keys)-1]
	}
}

func (s *Service) wakeKeys(ctx context.Context, keys []string) error {
	for len(keys) > 0 {
		n := min(len(keys), wakeBatch)
		woken, err := bounded(ctx, s.deps.Store.Wake, keys[:n])
		if err != nil {
			return err
		}
		s.spread(woken)
		keys = keys[n:]
	}
	return nil
}

// loosen makes ready who waits in a group that their kind does not declare.
func (s *Service) loosen(ctx context.Context) error {
	for {
		answer, err := bounded(ctx, s.deps.Store.Loosen, driven.LoosenRequest{Limit: loosenBatch, Depth: loosenDepth})
		if err != nil {
			return err
		}
		s.spread(answer.Woken)
		if !answer.More || answer.Jobs == 0 {
			return nil
		}
	}
}

// spread tells runners where jobs were made ready.
func (s *Service) spread(woken driven.Woken) { s.notify(woken.Queues) }
