package memstore

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// bench is a store with a clock that the test moves.
type bench struct {
	testing.TB
	*store
	backend driven.Backend
	ids     driven.IDs
	now     atomic.Int64 // milliseconds after start
}

func open(t testing.TB) *bench {
	t.Helper()
	b := &bench{TB: t, ids: system.IDs()}
	var err error
	b.backend, err = Open(Config{Now: func() time.Time { return start.Add(time.Duration(b.now.Load()) * time.Millisecond) }})
	if err != nil {
		t.Fatal(err)
	}
	b.store = b.backend.Store.(*store)
	t.Cleanup(b.check)
	return b
}

func (b *bench) pass(d time.Duration) { b.now.Add(d.Milliseconds()) }

func (b *bench) job() domain.NewJob {
	return domain.NewJob{ID: b.ids.NewJobID(), Kind: "k", Queue: "q", Args: []byte(`{"n":1}`)}
}

// add inserts jobs that must be new.
func (b *bench) add(jobs ...domain.NewJob) {
	b.Helper()
	answers, err := b.Insert(b.Context(), jobs)
	if err != nil {
		b.Fatal(err)
	}
	for i, a := range answers {
		if a.ID != jobs[i].ID || a.Result != domain.InsertedNew || len(a.Keys) > 0 {
			b.Fatalf("row %d: %v, want %v as new", i, a, jobs[i].ID)
		}
	}
}

func (b *bench) claim(n int, kinds ...string) driven.Claims {
	b.Helper()
	if len(kinds) == 0 {
		kinds = []string{"k"}
	}
	claims, err := b.Claim(b.Context(), driven.ClaimRequest{
		Token: b.ids.NewToken(), Runner: "r1", Lease: time.Minute, Queue: "q", Kinds: kinds, N: n,
	})
	if err != nil {
		b.Fatal(err)
	}
	return claims
}

// running inserts a job and claims it.
func (b *bench) running(change func(*domain.NewJob)) driven.Claimed {
	b.Helper()
	job := b.job()
	if change != nil {
		change(&job)
	}
	b.add(job)
	claims := b.claim(1, job.Kind)
	if len(claims.Jobs) != 1 || claims.Jobs[0].Job.ID != job.ID {
		b.Fatalf("claimed %d jobs", len(claims.Jobs))
	}
	return claims.Jobs[0]
}

func (b *bench) settle1(o driven.Outcome) driven.Settled {
	b.Helper()
	answer, err := b.Settle(b.Context(), []driven.Outcome{o})
	if err != nil {
		b.Fatal(err)
	}
	return answer
}

func (b *bench) get(id domain.JobID) domain.Job {
	b.Helper()
	job, err := b.Job(b.Context(), id, "")
	if err != nil {
		b.Fatal(err)
	}
	return job
}

// check compares every index with the rows, as they stand between two calls.
func (b *bench) check() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems() {
		b.Error(problem)
	}
}

func (s *store) problems() (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	there, waiting, ready, held := 0, map[string]int{}, map[line]int{}, map[string]int{}
	for id, r := range s.rows {
		if r.ID != id {
			say("the row of %v is that of %v", id, r.ID)
		}
		if r.lock != "" && (!r.State.Terminal() || domain.KeptLock(r.lock)) {
			if held[r.lock]++; s.locks[r.lock] != r {
				say("%v in %v does not hold its key", id, r.State)
			}
		}
		if (r.State == domain.Running) != !r.token.IsZero() {
			say("%v in %v has token %x", id, r.State, r.token)
		}
		if r.tx != nil {
			continue
		}
		there++
		if r.State == domain.Ready {
			ready[line{r.Queue, r.Kind}]++
		}
		if r.State == domain.Ready || r.State == domain.Scheduled {
			waiting[r.Queue]++
		}
	}
	byState := 0
	for state, x := range s.states {
		byState += x.size
		for r := range x.up() {
			if r.State != domain.State(state) || s.rows[r.ID] != r {
				say("%v in %v stands among the %v", r.ID, r.State, domain.State(state))
			}
		}
		found = append(found, ordered(x)...)
	}
	if byState != there || s.ids.size != there || len(held) != len(s.locks) {
		say("%d rows, %d by state, %d by id; %d keys held, %d in the index", there, byState, s.ids.size, len(held), len(s.locks))
	}
	if fmt.Sprint(waiting) != fmt.Sprint(s.waiting) || len(ready) != len(s.lines) {
		say("waiting %v, counted %v; %d lines, %d kept", waiting, s.waiting, len(ready), len(s.lines))
	}
	for at, x := range s.lines {
		if x.size != ready[at] {
			say("%d ready in %v, %d in its line", ready[at], at, x.size)
		}
		found = append(found, ordered(x)...)
	}
	return append(append(append(found, ordered(s.ids)...), s.boundProblems()...), s.batchProblems()...)
}

// ordered says what is out of order in an index.
func ordered(x *index) (found []string) {
	var last *row
	n := 0
	for r := range x.up() {
		if n++; last != nil && x.order(last, r) >= 0 {
			found = append(found, fmt.Sprintf("%v stands before %v", last.ID, r.ID))
		}
		last = r
	}
	if n != x.size {
		found = append(found, fmt.Sprintf("an index of %d says it has %d", n, x.size))
	}
	return found
}
