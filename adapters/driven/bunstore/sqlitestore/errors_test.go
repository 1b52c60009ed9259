package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func wantCode(t testing.TB, err error, want domain.Code) {
	t.Helper()
	var f *domain.Fault
	if !errors.As(err, &f) || f.Code != want {
		t.Errorf("got %v (cause %v), want the code %q", err, errors.Unwrap(err), want)
	}
}

func TestErrorsAtOpen(t *testing.T) {
	junk := filepath.Join(t.TempDir(), "junk.db")
	if err := os.WriteFile(junk, []byte(strings.Repeat("this is no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{junk, t.TempDir(), filepath.Join(t.TempDir(), "no", "such", "folder.db")} {
		_, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path})
		wantCode(t, err, domain.Unavailable)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sqlitestore.Open(gone, sqlitestore.Config{Path: filepath.Join(t.TempDir(), "jobs.db")})
	wantCode(t, err, domain.Canceled)
}

// Where the tables are missing every role says so, and how to get them.
func TestErrorsWithoutTables(t *testing.T) {
	b := openBare(t, sqlitestore.Config{Path: filepath.Join(t.TempDir(), "jobs.db")})
	_, err := b.Store.Insert(t.Context(), jobs(1, "k"))
	wantCode(t, err, domain.Unsupported)
	if !strings.Contains(domain.HintOf(err), "migrate up") {
		t.Errorf("the hint is %q", domain.HintOf(err))
	}
	_, err = b.Store.Jobs(t.Context(), domain.Filter{}, domain.Page{})
	wantCode(t, err, domain.Unsupported)
	_, err = b.Store.Queues(t.Context(), "", 10)
	wantCode(t, err, domain.Unsupported)
	db := pool(t, filepath.Join(t.TempDir(), "jobs.db"), nil)
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	inserter, err := fromDB(t, db, sqlitestore.Config{}).Tx.Bind(sqlitestore.Tx(tx))
	if err != nil {
		t.Fatal(err)
	}
	_, err = inserter.Insert(t.Context(), jobs(1, "k"))
	wantCode(t, err, domain.Unsupported)
}

func TestErrorsAfterClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	db := pool(t, path, nil)
	for _, b := range []driven.Backend{open(t, sqlitestore.Config{Path: path}), fromDB(t, db, sqlitestore.Config{})} {
		if err := errors.Join(b.Close(), b.Close()); err != nil {
			t.Error(err)
		}
		_, err := b.Store.Insert(t.Context(), jobs(1, "k"))
		wantCode(t, err, domain.Unavailable)
		_, err = b.Store.Job(t.Context(), ids.NewJobID(), "")
		wantCode(t, err, domain.Unavailable)
	}
	open := fromDB(t, db, sqlitestore.Config{})
	if err := db.Close(); err != nil { // the host's pool, by the host
		t.Fatal(err)
	}
	_, err := open.Store.Insert(t.Context(), jobs(1, "k"))
	wantCode(t, err, domain.Unavailable)
	_, err = open.Store.Job(t.Context(), ids.NewJobID(), "")
	wantCode(t, err, domain.Unavailable)
}

// refusing is a store whose database refuses to change rows of the kind "bad".
func refusing(t *testing.T) (driven.Backend, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobs.db")
	b := open(t, sqlitestore.Config{Path: path})
	db := pool(t, path, nil)
	_, err := db.ExecContext(t.Context(), `CREATE TRIGGER refuse BEFORE UPDATE ON rowlock_jobs
		WHEN old.kind = 'bad' AND old.state = 3 BEGIN SELECT raise(ABORT, 'refused for args'); END`)
	if err != nil {
		t.Fatal(err)
	}
	return b, db
}

// One row whose data the database refuses never keeps the others of a batch.
func TestOneRefusedOutcome(t *testing.T) {
	b, _ := refusing(t)
	insert(t, b, jobs(40, "k"))
	bad := jobs(1, "bad")
	insert(t, b, bad)
	insert(t, b, jobs(40, "k"))
	got := claim(t, b, 100, "k", "bad")
	outs := make([]driven.Outcome, len(got.Jobs))
	for i := range outs {
		outs[i] = driven.Outcome{Ticket: got.Jobs[i].Ticket(), To: domain.Dead, Counts: true, Error: "e", Keep: domain.KeepForever}
	}
	res, err := b.Store.Settle(t.Context(), outs)
	if err != nil || !slices.Equal(res.Dropped, []domain.JobID{bad[0].ID}) {
		t.Errorf("dropped %v (%v), want the bad one alone", res.Dropped, err)
	}
	n, _, err := b.Store.Count(t.Context(), domain.Filter{States: []domain.State{domain.Dead}}, 1000)
	if err != nil || n != 80 {
		t.Errorf("%d are dead (%v), want 80", n, err)
	}
}

func TestOneRefusedRecovery(t *testing.T) {
	b, db := refusing(t)
	bad := jobs(1, "bad")
	insert(t, b, bad)
	insert(t, b, jobs(30, "k"))
	claim(t, b, 31, "k", "bad")
	if _, err := db.ExecContext(t.Context(), "DROP TRIGGER refuse; UPDATE rowlock_jobs SET wake_at = 1; "+
		"CREATE TRIGGER refuse BEFORE UPDATE ON rowlock_jobs WHEN old.kind = 'bad' BEGIN SELECT raise(ABORT, 'refused'); END"); err != nil {
		t.Fatal(err)
	}
	res, err := b.Store.Recover(t.Context(), driven.RecoverRequest{Limit: 100, Stalls: domain.DefaultStalls()})
	if err != nil || len(res.Jobs) != 30 {
		t.Errorf("%d were put back (%v), want 30", len(res.Jobs), err)
	}
	j, err := b.Store.Job(t.Context(), bad[0].ID, "")
	if err != nil || j.State != domain.Running {
		t.Errorf("the bad one is %v (%v)", j.State, err)
	}
}

// What the database says may hold arguments: it is not shown, nor is an argument.
func TestErrorsShowNoArgs(t *testing.T) {
	b, db := refusing(t)
	if _, err := db.ExecContext(t.Context(), "CREATE TRIGGER secret BEFORE INSERT ON rowlock_jobs BEGIN SELECT raise(ABORT, 'secret-message'); END"); err != nil {
		t.Fatal(err)
	}
	in := jobs(1, "k")
	in[0].Args = []byte(`{"password":"secret-argument"}`)
	_, err := b.Store.Insert(t.Context(), in)
	wantCode(t, err, domain.Invalid)
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells too much: %v", err)
	}
}

// While another process holds the lock a caller's own deadline ends its wait, a
// patient caller waits without an error, and readers do not wait at all.
func TestLockHeldElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	b := open(t, sqlitestore.Config{Path: path})
	tx, err := pool(t, path, nil).BeginTx(t.Context(), nil) // immediate
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = b.Store.Insert(impatient, jobs(1, "k"))
	wantCode(t, err, domain.Canceled)
	if _, _, err := b.Store.Count(t.Context(), domain.Filter{}, 10); err != nil {
		t.Errorf("a reader does not wait for the lock: %v", err)
	}
	done := make(chan error, 1)
	go func() { _, err := b.Store.Insert(t.Context(), jobs(1, "k")); done <- err }()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
