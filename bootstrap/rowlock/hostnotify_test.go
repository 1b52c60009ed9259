package rowlock_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/backends"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/test/servers"
)

// silent opens a queue that tells nobody by itself: what others hear of its jobs, they
// hear of the commit.
func silent(t *testing.T, dsn string, opts ...rowlock.Option) *rowlock.Queue {
	t.Helper()
	b, err := backends.Open(t.Context(), dsn, backends.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.Notify = nil
	return opened(t, b, opts...)
}

// listening waits until somebody listens in the database.
func listening(t *testing.T, db *sql.DB) {
	t.Helper()
	eventually(t, func() bool {
		var n int
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' AND query LIKE 'LISTEN %'").Scan(&n)
		return err == nil && n == 1
	})
}

func database(t *testing.T, dsn string) *sql.DB {
	return servers.Open(t, servers.With(dsn, servers.Param("default_query_exec_mode", "exec")))
}

// TestACommitWakesOthers: with NotifyTx the commit itself wakes a runner that would not
// look for ten minutes, whatever became of who enqueued; a rollback wakes nobody, and
// many jobs are one wake-up. Also where the host is behind a pooler.
func TestACommitWakesOthers(t *testing.T) {
	direct, pooled := servers.Postgres(t), servers.PgBouncer(t)
	for name, dsn := range map[string]struct{ host, runner string }{
		"direct": {direct, direct}, "through a pooler": {pooled, servers.Around(t, pooled)},
	} {
		t.Run(name, func(t *testing.T) {
			host := silent(t, dsn.host, rowlock.Migrate())
			other := open(t, dsn.runner)
			ran := make(chan int64, 1000)
			rowlock.Handle(other, func(_ context.Context, j work.Job[welcome]) error {
				ran <- j.Args.UserID
				return nil
			})
			stop := background(t, other, rowlock.Poll(10*time.Minute), rowlock.Lease(time.Hour))
			listening(t, database(t, dsn.runner))
			db := database(t, dsn.host)
			for i := range int64(4) {
				end := (*sql.Tx).Commit
				if i%2 == 1 { // the next commit is what wakes
					end = (*sql.Tx).Rollback
				}
				inTx(t, db, end, func(tx *sql.Tx) error {
					in := enqueue.In(pgstore.NotifyTx(tx))
					_, err := host.EnqueueMany(t.Context(), []enqueue.Item{
						{Args: welcome{2 * i}, Options: []enqueue.Option{in}}, {Args: welcome{2*i + 1}, Options: []enqueue.Option{in}},
					})
					return err
				})
				if i%2 == 1 {
					continue
				}
				sum := within(t, ran, "a job of a commit") + within(t, ran, "the other job of it")
				if sum != 4*i+1 {
					t.Errorf("commit %d: the jobs that ran are not its two", i)
				}
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if n := len(ran); n > 0 {
				t.Errorf("%d jobs ran that were rolled back", n)
			}
		})
	}
}

// TestNotifyTxIsOneHint hears what is sent: a hint for each queue of a commit, none of
// a rollback, and those of plain transactions only when the enqueuer tells.
func TestNotifyTxIsOneHint(t *testing.T) {
	dsn := servers.Postgres(t)
	host, db := silent(t, dsn, rowlock.Migrate()), database(t, dsn)
	b, err := backends.Open(t.Context(), dsn, backends.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan string, 1000), make(chan error, 1)
	go func() { ended <- b.Notify.Listen(ctx, func(queue string) { heard <- queue }) }()
	defer func() {
		cancel()
		<-ended
		_ = b.Close()
	}()
	if got := within(t, heard, "the first hint"); got != "" {
		t.Errorf("who begins to listen says %q", got)
	}
	put := func(end func(*sql.Tx) error, wrap func(*sql.Tx) enqueue.Option, queue string) {
		t.Helper()
		inTx(t, db, end, func(tx *sql.Tx) error {
			for i := range int64(3) {
				if _, _, err := host.Enqueue(t.Context(), welcome{i}, wrap(tx), enqueue.Queue(queue)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	loud := func(tx *sql.Tx) enqueue.Option { return enqueue.In(pgstore.NotifyTx(tx)) }
	plain := func(tx *sql.Tx) enqueue.Option { return enqueue.In(pgstore.Tx(tx)) }
	commit, rollback := (*sql.Tx).Commit, (*sql.Tx).Rollback
	put(rollback, loud, "rolled back")
	put(commit, plain, "plain")
	put(commit, loud, "mail")
	put(commit, loud, "last")
	for _, want := range []string{"mail", "last"} {
		if got := within(t, heard, "a hint"); got != want {
			t.Errorf("heard of %q, want %q", got, want)
		}
	}
	memory := open(t, "memory:")
	_, _, err = memory.Enqueue(t.Context(), welcome{}, enqueue.In(pgstore.NotifyTx(new(sql.Tx))))
	if domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a store that the transaction is not of: %v", err)
	}
}

func inTx(t *testing.T, db *sql.DB, end func(*sql.Tx) error, do func(*sql.Tx) error) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := do(tx); err != nil {
		t.Fatal(err)
	}
	if err := end(tx); err != nil {
		t.Fatal(err)
	}
}
