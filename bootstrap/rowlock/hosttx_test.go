package rowlock_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/test/servers"
)

// What is enqueued in a host's transaction is heard of in other processes too, without
// a NOTIFY in that transaction: whoever enqueued asks again after its commit, and tells.
func TestOthersHearOfAHostsTransaction(t *testing.T) {
	plain := servers.Postgres(t)
	dsn := servers.URL(plain)
	host := open(t, dsn, rowlock.Migrate())
	other := open(t, dsn)
	ran := make(chan int64, 1000)
	rowlock.Handle(other, func(_ context.Context, j work.Job[welcome]) error {
		ran <- j.Args.UserID
		return nil
	})
	stop := background(t, other, rowlock.Poll(10*time.Minute), rowlock.Lease(time.Hour))
	db, err := sql.Open("pgx", plain)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	listens := func() bool {
		var n int
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'").Scan(&n)
		return err == nil && n == 1
	}
	eventually(t, listens)
	for i := range int64(3) {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := host.Enqueue(t.Context(), welcome{i}, enqueue.In(pgstore.Tx(tx))); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := within(t, ran, "a job that others enqueued"); got != i {
			t.Errorf("job %d ran, want %d", got, i)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
