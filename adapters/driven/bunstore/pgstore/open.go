package pgstore

import (
	"context"
	"database/sql"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const name = "postgres"

// Config says which database and where in it.
type Config struct {
	DSN         string           // a postgres:// URL or libpq's key=value form; for Open
	Schema      string           // "public" by default; search_path is never asked
	TablePrefix string           // "rowlock_" by default
	Now         func() time.Time // tests only: the store's clock; nil is the database's own
	Hint        Hint             // pgnotify's Notifier.Hint; nil: NotifyTx is Unsupported
}

// Open connects to the database. It does not migrate.
func Open(ctx context.Context, cfg Config) (driven.Backend, error) {
	cfg, err := cfg.check()
	if err != nil {
		return driven.Backend{}, err
	}
	conn, err := pgx.ParseConfig(cfg.DSN)
	if err != nil { // its text may show parts of the DSN, so only its cause is kept
		return driven.Backend{}, &domain.Fault{Code: domain.Invalid, Op: "open postgres", Hint: "the DSN cannot be read", Err: err}
	}
	// Each statement is planned for its values, and few are kept in a session.
	keeps := conn.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
	conn.DefaultQueryExecMode = pgx.QueryExecModeExec
	db := openPool(conn)
	e := newEngine(db, cfg, true)
	e.keeps = keeps
	s := bunstore.New(newDialect(db, cfg), e, cfg.Now)
	if err := s.Check(ctx); err != nil {
		_ = e.Close() // the first error is the one to tell
		return driven.Backend{}, err
	}
	return backend(s, db, cfg), nil
}

// FromDB uses a pool of the host's, as the host has configured it; it stays open
// after Close. Any driver that binds $1 and whose errors tell their SQLSTATE will
// do; of pgx, a pool that caches statements is asked not to for ours. A pool of
// one connection moves too: the store holds one at a time and never waits for a
// second. Give it a connect_timeout: a pool whose connections may take for ever to
// be made is lost with the first server that dies without a word.
func FromDB(db *sql.DB, cfg Config) (driven.Backend, error) {
	cfg, err := cfg.check()
	if err != nil {
		return driven.Backend{}, err
	}
	if db == nil {
		return driven.Backend{}, invalid("database", "", "the *sql.DB is nil")
	}
	return backend(bunstore.New(newDialect(db, cfg), newEngine(db, cfg, false), cfg.Now), db, cfg), nil
}

func backend(s *bunstore.Store, db *sql.DB, cfg Config) driven.Backend {
	b := s.Backend()
	b.Tx, b.Pool = binder{s, cfg.Hint}, bunstore.SizeOf(db)
	return b
}

// Tx wraps a transaction of the host's, *sql.Tx or bun.Tx, for enqueue.In. Its commit
// tells nobody: NotifyTx does.
func Tx(tx bun.IConn) driven.HostTx { return bunstore.Tx(name, tx) }

var prefixForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}$`)

func (c Config) check() (Config, error) {
	if c.TablePrefix == "" {
		c.TablePrefix = "rowlock_"
	}
	if c.Schema == "" {
		c.Schema = "public"
	}
	if !prefixForm.MatchString(c.TablePrefix) {
		return c, invalid("table prefix", c.TablePrefix, "use letters, digits and underscores, at most 40, no digit first")
	}
	if len(c.Schema) > maxName || !utf8.ValidString(c.Schema) || strings.ContainsFunc(c.Schema, unfit) || strings.HasPrefix(c.Schema, "pg_") {
		return c, invalid("schema", c.Schema, "use at most 63 bytes of printable text without backslash and dollar sign; pg_ is the server's own")
	}
	return c, nil
}

// maxName is how many bytes of a name PostgreSQL keeps; longer ones it cuts.
const maxName = 63

// unfit says which runes no schema may have. A backslash would mean different
// things under different settings of the server, a dollar sign begins a parameter.
func unfit(r rune) bool { return r == '\\' || r == '$' || !unicode.IsPrint(r) }

func (c Config) table(bare string) string { return quote(c.Schema) + "." + quote(c.TablePrefix+bare) }

// quote makes an identifier, literal a text.
func quote(id string) string     { return `"` + strings.ReplaceAll(id, `"`, `""`) + `"` }
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func invalid(what, value, hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: "check " + what, Subject: domain.CleanText(value, 80), Hint: hint}
}
