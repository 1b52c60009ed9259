package pgstore

import (
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
	"github.com/rowlock/rowlock/test/storekit"
)

func poolOf(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	db := openPool(cfg)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// The server ends transactions that were forsaken, unless it was told when; what a
// pooler lends is left as it is.
func TestLeash(t *testing.T) {
	for want, dsn := range map[string]string{
		"1min": servers.Postgres(t),
		"7s":   servers.Postgres(t, servers.Param("idle_in_transaction_session_timeout", "7s")),
		"0":    servers.PgBouncer(t),
	} {
		var got string
		if err := poolOf(t, dsn).QueryRowContext(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&got); err != nil || got != want {
			t.Errorf("it is %s, want %s: %v", got, want, err)
		}
	}
}

// Connections that died without a word while they rested are found out one after the
// other, and none of them is worked on; nor is one waited for that is never made.
func TestConnectionsThatDied(t *testing.T) {
	way, dsn := storekit.Through(t, servers.Postgres(t))
	db := poolOf(t, dsn)
	storekit.Idle(t, db, 4)
	rested := time.NewTimer(2 * restTime)
	way.Set(faults.Swallowing)
	<-rested.C
	began := time.Now()
	if err := db.PingContext(t.Context()); err == nil || time.Since(began) > 3*connectTime {
		t.Errorf("a dead server was pinged for %v: %v", time.Since(began), err)
	}
	way.Set(faults.Fair)
	began = time.Now()
	if err := db.PingContext(t.Context()); err != nil || time.Since(began) > 4*answerTime {
		t.Errorf("it took %v to find a connection: %v", time.Since(began), err)
	}
}
