package mysqlstore_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

var ids = system.IDs()

// jobs makes n jobs of one queue and kind.
func jobs(n int) []domain.NewJob {
	out := make([]domain.NewJob, n)
	for i := range out {
		out[i] = domain.NewJob{ID: ids.NewJobID(), Kind: "k", Queue: "q", Args: []byte(`{}`)}
	}
	return out
}

// request asks for such jobs.
func request(n int) driven.ClaimRequest {
	return driven.ClaimRequest{Token: ids.NewToken(), Runner: "r", Lease: time.Minute, Queue: "q", Kinds: []string{"k"}, N: n}
}

// one opens an installed store with one connection to a database of its own.
func one(t testing.TB, dsn string) (driven.Backend, *sql.DB) {
	t.Helper()
	db := hostDB(t, dsn, nil)
	db.SetMaxOpenConns(1)
	b := fromDB(t, db, mysqlstore.Config{})
	up(t, b)
	return b, db
}

func add(t testing.TB, b driven.Backend, n int) []domain.NewJob {
	t.Helper()
	in := jobs(n)
	if _, err := b.Store.Insert(t.Context(), in); err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	return in
}

func claim(t testing.TB, b driven.Backend, n int) []driven.Claimed {
	t.Helper()
	got, err := b.Store.Claim(t.Context(), request(n))
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	return got.Jobs
}

// running inserts and claims one job, and gives the outcome that would end it.
// What others left due is claimed before, so that the job is the new one.
func running(t testing.TB, b driven.Backend) (domain.JobID, []driven.Outcome) {
	t.Helper()
	claim(t, b, 1000)
	add(t, b, 1)
	got := claim(t, b, 1)
	if len(got) != 1 {
		t.Fatal("the job is not claimed")
	}
	return got[0].Job.ID, []driven.Outcome{{Ticket: got[0].Ticket(), To: domain.Done, Counts: true, Keep: time.Hour}}
}

func wantCode(t testing.TB, what string, err error, want domain.Code, hint string) {
	t.Helper()
	var f *domain.Fault
	if !errors.As(err, &f) || f.Code != want || !strings.Contains(f.Hint, hint) {
		t.Errorf("%s: got %v (cause %v), want the code %q and %q", what, err, errors.Unwrap(err), want, hint)
	}
}

func run(t testing.TB, db interface {
	Exec(string, ...any) (sql.Result, error)
}, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
}
