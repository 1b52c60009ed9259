package mysqlstore

import (
	"context"
	"database/sql"
	"regexp"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/uptrace/bun"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const name = "mysql"

// Config says which database and how.
type Config struct {
	// DSN is a mysql:// or mariadb:// URL or the form of go-sql-driver/mysql; for Open.
	DSN         string
	Database    string           // the one with the tables; the DSN's, or the pool's own, by default
	TablePrefix string           // "rowlock_" by default
	Now         func() time.Time // tests only: the store's clock; nil is the database's own
	// NoSkipLocked takes jobs as on a server that cannot skip locked rows: claims
	// wait for each other. Such a server is found out without it.
	NoSkipLocked bool
}

// The pool of Open. Claims, outcomes, renewals and upkeep need four connections
// of a runner's; the others are for enqueues and look-ups. What is idle stays a
// while, since to connect costs milliseconds; none outlives a failover for long.
const (
	maxConns    = 16
	maxIdleTime = time.Minute
	maxLifetime = 30 * time.Minute
)

// connectTime bounds how long a session of our own pool may take to be made, where
// the DSN says nothing of it (timeout).
const connectTime = 4 * time.Second

// Open connects to the server and asks it what it can do. It does not migrate.
func Open(ctx context.Context, cfg Config) (driven.Backend, error) {
	conn, err := parseDSN(cfg.DSN)
	if err != nil {
		return driven.Backend{}, err
	}
	// Values are bound, never written into the text; a server that turned
	// read-only is left at once for the one that its name leads to now.
	conn.InterpolateParams, conn.MultiStatements, conn.RejectReadOnly = false, false, true
	conn.Logger = &mysql.NopLogger{} // what goes wrong is an error of the call that met it
	if conn.Timeout <= 0 {
		conn.Timeout = connectTime
	}
	connector, err := mysql.NewConnector(conn)
	if err != nil {
		return driven.Backend{}, badDSN(err)
	}
	db := sql.OpenDB(sessions{connector, conn.Timeout})
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	db.SetConnMaxIdleTime(maxIdleTime)
	db.SetConnMaxLifetime(maxLifetime)
	b, err := open(ctx, db, cfg, &engine{db: db, own: true})
	if err != nil {
		_ = db.Close() // the first error is the one to tell
	}
	return b, err
}

// askTime bounds what FromDB asks the server.
const askTime = 10 * time.Second

// FromDB uses a pool of the host's on github.com/go-sql-driver/mysql, as the host
// has configured it; it stays open after Close. It asks the server what it can do,
// so the server must be there. A pool of one connection moves too: the store holds
// one at a time and never waits for a second.
func FromDB(db *sql.DB, cfg Config) (driven.Backend, error) {
	if db == nil {
		return driven.Backend{}, invalid("database", "", "the *sql.DB is nil")
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	return open(ctx, db, cfg, &engine{db: db})
}

// Tx wraps a transaction of the host's, *sql.Tx or bun.Tx, for enqueue.In.
func Tx(tx bun.IConn) driven.HostTx { return bunstore.Tx(name, tx) }

func open(ctx context.Context, db *sql.DB, cfg Config, e *engine) (driven.Backend, error) {
	if cfg.TablePrefix == "" {
		cfg.TablePrefix = "rowlock_"
	}
	if !prefixForm.MatchString(cfg.TablePrefix) {
		return driven.Backend{}, invalid("table prefix", cfg.TablePrefix, "use letters, digits and underscores, at most 40, no digit first")
	}
	if cfg.Database != "" && !nameForm.MatchString(cfg.Database) {
		return driven.Backend{}, invalid("database", cfg.Database, nameHint)
	}
	srv, err := ask(ctx, e, cfg)
	if err != nil {
		return driven.Backend{}, err
	}
	e.lockName = lockName(srv.database, cfg.TablePrefix)
	b := bunstore.New(newDialect(db, srv, cfg.TablePrefix), e, cfg.Now).Backend()
	b.Pool = bunstore.SizeOf(db)
	return b, nil
}

var (
	prefixForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}$`)
	// nameForm leaves out what would need an escape somewhere, or is a mark of ours.
	nameForm = regexp.MustCompile("^[^`'\"\\\\$?{}\\x00-\\x1f]{1,64}$")
)

const nameHint = "use at most 64 characters, no quotes, backslashes, braces, $ or ?"

func invalid(what, value, hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: "check " + what, Subject: domain.CleanText(value, 80), Hint: hint}
}
