package sqlitestore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(play(role))
	}
	goleak.VerifyTestMain(m)
}

// open gives a migrated store on a file of the test's own.
func open(t testing.TB, cfg sqlitestore.Config) driven.Backend {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(t.TempDir(), "jobs.db")
	}
	b := openBare(t, cfg)
	up(t, b)
	return b
}

func openBare(t testing.TB, cfg sqlitestore.Config) driven.Backend {
	t.Helper()
	b, err := sqlitestore.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func up(t testing.TB, b driven.Backend) {
	t.Helper()
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
}

var ids = system.IDs()

// jobs makes n plain jobs.
func jobs(n int, kind string) []domain.NewJob {
	out := make([]domain.NewJob, n)
	for i := range out {
		out[i] = domain.NewJob{ID: ids.NewJobID(), Kind: kind, Queue: "default", Args: fmt.Appendf(nil, `{"n":%d}`, i)}
	}
	return out
}

func insert(t testing.TB, b driven.Backend, jobs []domain.NewJob) {
	t.Helper()
	if _, err := b.Store.Insert(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
}

func claim(t testing.TB, b driven.Backend, n int, kinds ...string) driven.Claims {
	t.Helper()
	got, err := b.Store.Claim(t.Context(), driven.ClaimRequest{
		Token: ids.NewToken(), Runner: "r", Lease: time.Minute, Queue: "default", Kinds: kinds, N: n,
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestLife(t *testing.T) {
	b := open(t, sqlitestore.Config{})
	in := jobs(10, "k")
	insert(t, b, in)
	got := claim(t, b, 4, "other", "k")
	if len(got.Jobs) != 4 || got.Jobs[0].Job.ID != in[0].ID || string(got.Jobs[3].Job.Args) != `{"n":3}` {
		t.Fatalf("claimed %+v", got)
	}
	var outs []driven.Outcome
	for _, c := range got.Jobs {
		outs = append(outs, driven.Outcome{Ticket: c.Ticket(), To: domain.Done, Counts: true, Keep: time.Hour, Ran: time.Millisecond})
	}
	outs[3].To, outs[3].Error, outs[3].After = domain.Scheduled, "broken \"quote\" \n", time.Hour
	for range 2 {
		res, err := b.Store.Settle(t.Context(), outs)
		if err != nil || len(res.Dropped) > 0 {
			t.Fatal(res, err)
		}
	}
	j, err := b.Store.Job(t.Context(), in[3].ID, "")
	if err != nil || j.State != domain.Scheduled || j.Attempts != 1 || j.Error != outs[3].Error {
		t.Fatalf("%+v %v", j, err)
	}
	st, err := b.Store.Stats(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	want := domain.Tally{Due: 6, Scheduled: 1, Done: 3}
	if len(st.Lines) != 1 || st.Lines[0].Tally != want || !st.Exact {
		t.Fatalf("%+v", st)
	}
}

// More pairs of queue and kind than are looked at: the statistics say that they
// are not all, and end.
func TestStatsOfVeryManyKinds(t *testing.T) {
	b := open(t, sqlitestore.Config{})
	for _, n := range []int{2000, 1} {
		many := jobs(n, "k")
		for i := range many {
			many[i].Queue, many[i].Kind = fmt.Sprintf("q%d-%d", n, i%40), fmt.Sprint("k", i)
		}
		insert(t, b, many)
		got, err := b.Store.Stats(t.Context(), "", 1000)
		if want := n == 2000; err != nil || got.Exact != want || got.Totals().Due != 2000 || len(got.Lines) != 2000 {
			t.Errorf("exact %v, %d due in %d lines (%v)", got.Exact, got.Totals().Due, len(got.Lines), err)
		}
	}
}
