package mysqlstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/adapters/driven/retrystore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/storekit"
)

// lost counts the calls below the retry store that lost to others.
type lost struct {
	driven.Store
	n atomic.Int64
}

func (l *lost) note(err error) {
	if domain.CodeOf(err) == domain.Contended {
		l.n.Add(1)
	}
}

func (l *lost) Insert(ctx context.Context, in []domain.NewJob) ([]driven.Inserted, error) {
	got, err := l.Store.Insert(ctx, in)
	l.note(err)
	return got, err
}

func (l *lost) Claim(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
	got, err := l.Store.Claim(ctx, r)
	l.note(err)
	return got, err
}

func (l *lost) Settle(ctx context.Context, o []driven.Outcome) (driven.Settled, error) {
	got, err := l.Store.Settle(ctx, o)
	l.note(err)
	return got, err
}

// TestStorm has 15 claimers work off short jobs while others insert, with and
// without keys: no error reaches anybody and each job is run once.
func TestStorm(t *testing.T) {
	for form, noSkip := range map[string]bool{"skipping": false, "waiting": true} {
		onEach(t, func(t *testing.T, p product) { t.Run(form, func(t *testing.T) { storm(t, p, noSkip) }) })
	}
}

func storm(t *testing.T, p product, noSkip bool) {
	total := 500
	if stress() {
		total = 5000
	}
	b := openBare(t, mysqlstore.Config{DSN: p.dsn(t), NoSkipLocked: noSkip})
	up(t, b)
	below := &lost{Store: b.Store}
	b.Store = below
	s := retrystore.Wrap(b).Store
	w := &weather{t: t, s: s, ran: map[domain.JobID]int{}, total: total}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for i := range 4 {
		w.Go(func() { w.insert(ctx, i, total/4) })
	}
	for range 15 {
		w.Go(func() { w.claim(ctx) })
	}
	w.Wait()
	for id, times := range w.ran {
		if times != 1 {
			t.Errorf("job %s ran %d times", id, times)
		}
	}
	if len(w.ran) != total {
		t.Errorf("%d of %d jobs ran", len(w.ran), total)
	}
	t.Logf("%d jobs, %d calls lost to others", len(w.ran), below.n.Load())
}

type weather struct {
	sync.WaitGroup
	t     *testing.T
	s     driven.Store
	total int
	mu    sync.Mutex
	ran   map[domain.JobID]int
}

// insert adds jobs by sevens; keys of one call collide with those of others, and
// every job is wanted: a held key is given up for the next, or its holder changed.
func (w *weather) insert(ctx context.Context, who, n int) {
	for n > 0 && !w.t.Failed() {
		in := storekit.Jobs(min(n, 7))
		for i := range in {
			if in[i].Kind = []string{"k", "l", "m"}[i%3]; i == 3 || i == 5 {
				how := []domain.OnConflict{domain.Skip, domain.Replace, domain.Reschedule}[(who+n/7)%3]
				in[i].Unique = &domain.Unique{Key: string(rune('a' + (who+n+i)%3)), OnConflict: how}
			}
		}
		got, err := w.s.Insert(ctx, in)
		if err != nil {
			w.t.Error("insert", err, errors.Unwrap(err))
			return
		}
		for _, one := range got {
			if one.Result == domain.InsertedNew {
				n--
			}
		}
	}
}

func (w *weather) claim(ctx context.Context) {
	for !w.done() {
		r := storekit.Request(10)
		r.Kinds = []string{"k", "l", "m", "nobody's"}
		got, err := w.s.Claim(ctx, r)
		if err != nil {
			w.t.Error("claim", err, errors.Unwrap(err))
			return
		}
		out := make([]driven.Outcome, len(got.Jobs))
		for i := range got.Jobs {
			out[i] = driven.Outcome{Ticket: got.Jobs[i].Ticket(), To: domain.Done, Counts: true, Keep: time.Hour}
		}
		if len(out) == 0 {
			continue
		}
		if res, err := w.s.Settle(ctx, out); err != nil || len(res.Dropped) > 0 {
			w.t.Error("settle", res, err, errors.Unwrap(err))
			return
		}
		w.mu.Lock()
		for _, o := range out {
			w.ran[o.Ticket.ID]++
		}
		w.mu.Unlock()
	}
}

func (w *weather) done() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ran) >= w.total || w.t.Failed()
}
