package mssqlstore

import (
	"context"
	"database/sql"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/uptrace/bun"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const name = "sqlserver"

// Config says which database and where in it.
type Config struct {
	DSN         string           // a sqlserver:// URL or another form of go-mssqldb's; for Open
	Schema      string           // "dbo" by default; the login's default schema is never asked
	TablePrefix string           // "rowlock_" by default
	Now         func() time.Time // tests only: the store's clock; nil is the database's own
}

// The pool of Open. Claims, outcomes, renewals and upkeep need four connections
// of a runner's; the others are for enqueues and look-ups. What is idle stays a
// while, since to connect costs milliseconds; none outlives a failover for long.
const (
	maxConns    = 16
	maxIdleTime = time.Minute
	maxLifetime = 30 * time.Minute
)

// Open connects to the server and asks it what it can do. It does not migrate.
func Open(ctx context.Context, cfg Config) (driven.Backend, error) {
	cfg, err := cfg.check()
	if err != nil {
		return driven.Backend{}, err
	}
	conn, err := parseDSN(cfg.DSN)
	if err != nil {
		return driven.Backend{}, err
	}
	db := sql.OpenDB(newConnector(conn))
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	db.SetConnMaxIdleTime(maxIdleTime)
	db.SetConnMaxLifetime(maxLifetime)
	e := newEngine(db, cfg, true)
	s := bunstore.New(newDialect(db, cfg), e, cfg.Now)
	if err = s.Check(ctx); err == nil {
		err = fault(e.Read(ctx, able))
	}
	if err != nil {
		_ = e.Close() // the first error is the one to tell
		return driven.Backend{}, err
	}
	return backend(s, db), nil
}

// FromDB uses a pool of the host's on github.com/microsoft/go-mssqldb, as the host
// has configured it; it stays open after Close. A pool of one connection moves
// too: the store holds one at a time and never waits for a second.
func FromDB(db *sql.DB, cfg Config) (driven.Backend, error) {
	cfg, err := cfg.check()
	if err != nil {
		return driven.Backend{}, err
	}
	if db == nil {
		return driven.Backend{}, invalid("database", "", "the *sql.DB is nil")
	}
	return backend(bunstore.New(newDialect(db, cfg), newEngine(db, cfg, false), cfg.Now), db), nil
}

func backend(s *bunstore.Store, db *sql.DB) driven.Backend {
	b := s.Backend()
	b.Pool = bunstore.SizeOf(db)
	return b
}

// Tx wraps a transaction of the host's, *sql.Tx or bun.Tx, for enqueue.In.
func Tx(tx bun.IConn) driven.HostTx { return bunstore.Tx(name, tx) }

// parseDSN keeps the driver's own text unseen: it may show parts of the DSN.
func parseDSN(dsn string) (msdsn.Config, error) {
	conn, err := msdsn.Parse(dsn)
	if err == nil && strings.TrimSpace(dsn) == "" {
		err = errNoDSN
	}
	if err != nil {
		return conn, &domain.Fault{
			Code: domain.Invalid, Op: "open sqlserver", Err: err,
			Hint: "the DSN cannot be read: use sqlserver://user:password@host:1433?database=name",
		}
	}
	if conn.Parameters[msdsn.AppName] == "" {
		conn.AppName = "rowlock" // how the server's views name the session
	}
	return conn, nil
}

var prefixForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}$`)

// maxSchema keeps a name within 128 UTF-16 units.
const maxSchema = 64

func (c Config) check() (Config, error) {
	if c.TablePrefix == "" {
		c.TablePrefix = "rowlock_"
	}
	if c.Schema == "" {
		c.Schema = "dbo"
	}
	if !prefixForm.MatchString(c.TablePrefix) {
		return c, invalid("table prefix", c.TablePrefix, "use letters, digits and underscores, at most 40, no digit first")
	}
	if utf8.RuneCountInString(c.Schema) > maxSchema || !utf8.ValidString(c.Schema) || strings.ContainsFunc(c.Schema, unfit) {
		return c, invalid("schema", c.Schema, "use at most 64 characters, no control characters, $, ? or braces")
	}
	return c, nil
}

// unfit leaves out what is a mark of ours somewhere.
func unfit(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune("$?{}", r) }

// table is a table of ours by its bare name, qualified and quoted.
func (c Config) table(bare string) string { return quote(c.Schema) + "." + quote(c.TablePrefix+bare) }

// quote makes an identifier. Brackets do not depend on QUOTED_IDENTIFIER.
func quote(id string) string { return "[" + strings.ReplaceAll(id, "]", "]]") + "]" }

// literal makes a text of ours for a query of the catalog, whose names are NVARCHAR.
func literal(text string) string { return "N'" + strings.ReplaceAll(text, "'", "''") + "'" }

func invalid(what, value, hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: "check " + what, Subject: domain.CleanText(value, 80), Hint: hint}
}
