package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/test/faults"
)

// table is a file with one table of numbers, written through a writer.
type table struct {
	*testing.T
	db   *sql.DB
	plan *faults.Plan
	w    *writer
}

func newTable(t *testing.T) *table {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	connector, err := sqlite.NewConnector(dsn(path, "_pragma", "journal_mode(WAL)", "_pragma", "busy_timeout(0)"))
	if err != nil {
		t.Fatal(err)
	}
	plan := faults.NewPlan()
	db := sql.OpenDB(faults.Wrap(connector, plan))
	n := &table{T: t, db: db, plan: plan, w: newWriter(&lent{db: db})}
	t.Cleanup(func() { n.w.close(); _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE n (n INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	return n
}

// put is work that writes one number.
func put(n int) bunstore.Work {
	return func(ctx context.Context, c bunstore.Conn) error {
		_, err := c.ExecContext(ctx, "INSERT INTO n VALUES (?)", n)
		return err
	}
}

// hold occupies the writer until release is called, which gives the call's answer.
func (n *table) hold() (release func() error) {
	n.Helper()
	entered, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- n.w.do(context.WithoutCancel(n.Context()), func(context.Context, bunstore.Conn) error {
			close(entered)
			<-leave
			return nil
		})
	}()
	<-entered
	return func() error {
		close(leave)
		return <-done
	}
}

// queue starts calls and waits until all of them wait for their turn.
func (n *table) queue(ctx context.Context, works ...bunstore.Work) []chan error {
	n.Helper()
	answers := make([]chan error, len(works))
	for i, work := range works {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- n.w.do(ctx, work) }()
		n.until("a call to be queued", func() bool {
			n.w.mu.Lock()
			defer n.w.mu.Unlock()
			return len(n.w.queue) == i+1
		})
	}
	return answers
}

func (n *table) until(what string, holds func() bool) {
	n.Helper()
	deadline := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-deadline:
			n.Fatalf("waited for %s in vain", what)
		case <-time.After(100 * time.Microsecond):
		}
	}
}

func (n *table) wantRows(want ...int) {
	n.Helper()
	rows, err := n.db.QueryContext(n.Context(), "SELECT n FROM n ORDER BY n") //nolint:rowserrcheck // Drain checks it
	if err != nil {
		n.Fatal(err)
	}
	var got []int
	err = bunstore.Drain(rows, func(rows *sql.Rows) error {
		var one int
		err := rows.Scan(&one)
		got = append(got, one)
		return err
	})
	if err != nil || !slices.Equal(got, want) {
		n.Fatalf("rows are %v (%v), want %v", got, err, want)
	}
}

// Calls that wait share one transaction and one commit.
func TestWriterGroups(t *testing.T) {
	n := newTable(t)
	release := n.hold()
	answers := n.queue(t.Context(), put(1), put(2), put(3))
	n.plan.Reset()
	if err := release(); err != nil {
		t.Error(err)
	}
	for _, a := range answers {
		if err := <-a; err != nil {
			t.Error(err)
		}
	}
	count := map[string]int{}
	for _, text := range n.plan.Statements() {
		word, _, _ := strings.Cut(text, " ")
		count[word]++
	}
	if count["BEGIN"] > 0 || count["COMMIT"] != 1 || count["SAVEPOINT"] != 3 {
		t.Errorf("the calls that came meanwhile did not join the transaction: %v", count)
	}
	n.wantRows(1, 2, 3)
}

// What one call does wrong is undone alone, with its savepoint.
func TestWriterUndoesOneAlone(t *testing.T) {
	n := newTable(t)
	release := n.hold()
	refused := errors.New("refused")
	answers := n.queue(t.Context(),
		put(1),
		func(ctx context.Context, c bunstore.Conn) error { return errors.Join(put(2)(ctx, c), refused) },
		func(ctx context.Context, c bunstore.Conn) error { _ = put(3)(ctx, c); panic("broken") },
		put(1),
		put(4),
	)
	if err := release(); err != nil {
		t.Error(err)
	}
	errs := make([]error, len(answers))
	for i, a := range answers {
		errs[i] = <-a
	}
	if errs[0] != nil || errs[4] != nil {
		t.Errorf("the good ones got %v and %v", errs[0], errs[4])
	}
	if !errors.Is(errs[1], refused) || domain.CodeOf(errs[2]) != domain.Internal || !unique(errs[3]) {
		t.Errorf("the bad ones got %v, %v, %v", errs[1], errs[2], errs[3])
	}
	n.wantRows(1, 4)
	if err := n.w.do(t.Context(), func(ctx context.Context, c bunstore.Conn) error { return errors.Join(put(5)(ctx, c), refused) }); !errors.Is(err, refused) {
		t.Error(err)
	}
	n.wantRows(1, 4)
}

// A commit that fails is the answer to all of its group, and the writer lives on.
func TestWriterCommitFails(t *testing.T) {
	n := newTable(t)
	release := n.hold()
	answers := n.queue(t.Context(), put(1), put(2))
	n.plan.Reset()
	n.plan.At(7, faults.Before, faults.Fail(faults.ErrCut)) // twice savepoint, insert, release; then the commit
	for _, err := range []error{release(), <-answers[0], <-answers[1]} {
		if !errors.Is(err, faults.ErrCut) {
			t.Errorf("got %v, steps %q", err, n.plan.Statements())
		}
	}
	n.wantRows()
	if err := n.w.do(t.Context(), put(3)); err != nil {
		t.Error(err)
	}
	n.wantRows(3)
}

// A caller who goes while waiting is not served; one who goes too late gets the true answer.
func TestWriterCallerGoes(t *testing.T) {
	n := newTable(t)
	release := n.hold()
	ctx, cancel := context.WithCancel(t.Context())
	early := n.queue(ctx, put(1))[0]
	cancel()
	if err := <-early; !errors.Is(err, context.Canceled) {
		t.Errorf("who went early got %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	err := n.w.do(ctx, func(inside context.Context, c bunstore.Conn) error {
		cancel()
		return errors.Join(inside.Err(), put(2)(inside, c))
	})
	if err != nil {
		t.Errorf("who went too late got %v", err)
	}
	n.wantRows(2)
	if err := n.w.do(ctx, put(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("who came with an ended context got %v", err)
	}
}

// While another process has the lock a call waits without an error, and its
// caller may go.
func TestWriterWaitsForTheLock(t *testing.T) {
	n := newTable(t)
	lock, err := n.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	n.w.patience = 20 * time.Millisecond
	if err := n.w.do(t.Context(), put(1)); !busy(err) {
		t.Errorf("who waited for too long got %v", err)
	}
	kept := newWriter(&own{db: n.db}) // which has its connection at once, each time
	kept.patience = 20 * time.Millisecond
	if err := kept.do(t.Context(), put(1)); !busy(err) {
		t.Errorf("who waited for too long with a connection of its own got %v", err)
	}
	kept.close()
	n.w.patience = lockWait
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := n.w.do(ctx, put(1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	patient := make(chan error, 1)
	n.plan.Reset()
	go func() { patient <- n.w.do(context.WithoutCancel(n.Context()), put(2)) }()
	n.until("some tries", func() bool { return n.plan.Count() > 10 })
	if _, err := lock.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-patient; err != nil {
		t.Error(err)
	}
	_ = lock.Close()
	n.wantRows(2)
}

// Close ends what runs, refuses what waits and what comes, and is idempotent.
func TestWriterCloses(t *testing.T) {
	n := newTable(t)
	release := n.hold()
	waiter := n.queue(t.Context(), put(1))[0]
	closed := make(chan struct{})
	go func() { n.w.close(); close(closed) }()
	n.until("the close to begin", func() bool { return n.w.life.Err() != nil })
	if err := release(); err != nil {
		t.Error(err)
	}
	if err := <-waiter; err != nil && !errors.Is(err, errClosed) {
		t.Errorf("who waited got %v", err)
	}
	<-closed
	n.w.close()
	if err := n.w.do(t.Context(), put(2)); !errors.Is(err, errClosed) {
		t.Errorf("who came later got %v", err)
	}
}
