package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// The pool of Open. Claims, outcomes, renewals and upkeep need four connections
// of a runner's; the others are for enqueues and look-ups. What is idle stays a
// while, since to connect costs milliseconds; none outlives a failover for long.
const (
	maxConns    = 16
	maxIdleTime = time.Minute
	maxLifetime = 30 * time.Minute
)

// A server may be gone without a word, and then nothing that is sent to it is ever
// answered. The pool makes connections by itself too, one after the other: without
// a bound the first one to a dead server would be the last that it makes.
const (
	connectTime = 4 * time.Second // where the DSN says nothing of it (connect_timeout)
	restTime    = time.Second     // a connection that rested longer is asked whether it lives,
	answerTime  = time.Second     // and has so long to answer
	// The server ends a transaction that says nothing for so long: what it locks would
	// else stay locked for as long as the server believes a dead client alive.
	forsaken = "60s"
)

// openPool opens a pool of our own.
func openPool(conn *pgx.ConnConfig) *sql.DB {
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTime
	}
	db := stdlib.OpenDB(*conn, stdlib.OptionShouldPing(ask), stdlib.OptionResetSession(alive), stdlib.OptionAfterConnect(leash))
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	db.SetConnMaxIdleTime(maxIdleTime)
	db.SetConnMaxLifetime(maxLifetime)
	return db
}

// ask asks a connection whether it lives, and closes it if not; pgx itself would wait
// for the answer as long as the caller does.
func ask(ctx context.Context, p stdlib.ShouldPingParams) bool {
	if p.IdleDuration <= restTime {
		return false
	}
	bounded, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if p.Conn.PgConn().Ping(bounded) != nil {
		_ = p.Conn.Close(bounded)
	}
	return false
}

// alive refuses a connection that did not answer.
func alive(_ context.Context, c *pgx.Conn) error {
	if c.IsClosed() {
		return driver.ErrBadConn
	}
	return nil
}

// leash has the server end transactions that say nothing any more, unless it does so
// already. A session that a pooler lends is left as it is: it is told by the number
// that the pooler makes up at login.
func leash(ctx context.Context, c *pgx.Conn) error {
	const setting = "idle_in_transaction_session_timeout"
	_, err := c.Exec(ctx, "SELECT set_config($1, $2, false) WHERE current_setting($1) = '0' AND pg_backend_pid()::bigint = $3",
		setting, forsaken, int64(c.PgConn().PID()))
	return err
}
