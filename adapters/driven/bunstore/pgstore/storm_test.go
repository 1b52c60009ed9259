package pgstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
	"github.com/rowlock/rowlock/adapters/driven/retrystore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
	"github.com/rowlock/rowlock/test/storekit"
)

// TestStorm has claimers work off short jobs, some of which die with a failure job,
// while others insert jobs of few keys, several in a call and by all policies: no
// error reaches anybody, and no key is ever held twice.
func TestStorm(t *testing.T) {
	b, err := pgstore.Open(t.Context(), pgstore.Config{DSN: servers.Postgres(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	up(t, b)
	s := &storm{t: t, Store: retrystore.Wrap(b).Store}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for i := range 6 {
		s.inserters.Go(func() { s.insert(ctx, i) })
	}
	for range 4 {
		s.claimers.Go(func() { s.claim(ctx) })
	}
	s.inserters.Wait()
	s.over.Store(true)
	s.claimers.Wait()
	n, _, err := s.Count(ctx, domain.Filter{}, 100_000)
	if want := int(s.added.Load() + s.buried.Load()); err != nil || n != want {
		t.Errorf("%d rows, want %d: %v", n, want, err)
	}
	t.Logf("%d jobs and %d failure jobs added, %d times a holder was changed", s.added.Load(), s.buried.Load(), s.moved.Load())
	if s.moved.Load() == 0 || s.buried.Load() == 0 {
		t.Error("nobody met")
	}
}

type storm struct {
	driven.Store
	t                    *testing.T
	inserters, claimers  sync.WaitGroup
	over                 atomic.Bool
	added, moved, buried atomic.Int64
}

func (s *storm) insert(ctx context.Context, who int) {
	for round := range 60 {
		in := storekit.Jobs(7)
		for i := range in {
			how := []domain.OnConflict{domain.Skip, domain.Replace, domain.Reschedule}[(round+i)%3]
			in[i].Unique = &domain.Unique{Key: string(rune('a' + (who+round*3+i*5)%9)), OnConflict: how}
			in[i].Due.After = time.Duration(i%2) * 20 * time.Millisecond
		}
		got, err := s.Insert(ctx, in)
		if err != nil {
			s.t.Error("insert", err, errors.Unwrap(err))
			return
		}
		for _, one := range got {
			switch one.Result {
			case domain.InsertedNew:
				s.added.Add(1)
			case domain.Replaced, domain.Rescheduled:
				s.moved.Add(1)
			case domain.Existing:
			}
		}
	}
}

func (s *storm) claim(ctx context.Context) {
	for {
		last := s.over.Load()
		got, err := s.Claim(ctx, storekit.Request(5))
		if err != nil {
			s.t.Error("claim", err, errors.Unwrap(err))
			return
		}
		out := make([]driven.Outcome, len(got.Jobs))
		for i := range got.Jobs {
			out[i] = driven.Outcome{Ticket: got.Jobs[i].Ticket(), To: domain.Done, Counts: true, Keep: time.Hour}
			if i%2 == 1 {
				made := domain.NewJob{ID: ids.NewJobID(), Kind: "sorry", Queue: "q", Args: []byte(`{}`)}
				out[i].To, out[i].Failure = domain.Dead, &made
				s.buried.Add(1)
			}
		}
		if res, err := s.Settle(ctx, out); err != nil || len(res.Dropped)+len(res.Refused) > 0 {
			s.t.Error("settle", res, err, errors.Unwrap(err))
			return
		}
		if last && len(out) == 0 {
			return
		}
	}
}
