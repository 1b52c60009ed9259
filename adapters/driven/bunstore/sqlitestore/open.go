package sqlitestore

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"modernc.org/sqlite"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const name = "sqlite"

// Config says which file and how.
type Config struct {
	Path        string           // the file; it is made where it is not there
	TablePrefix string           // "rowlock_" by default
	Synchronous string           // "FULL" by default: a commit survives a power cut; "NORMAL": the last ones may not
	Now         func() time.Time // tests only: the store's clock; nil is the database's own
}

// readers is how many connections read beside the writer.
const readers = 4

// Open opens the file. It does not migrate.
func Open(ctx context.Context, cfg Config) (driven.Backend, error) {
	cfg, err := cfg.check()
	if err != nil {
		return driven.Backend{}, err
	}
	if cfg.Path == "" || cfg.Path == ":memory:" {
		return driven.Backend{}, invalid("path", cfg.Path, "give a file; for a store in memory use memory:")
	}
	e, err := newEngine(cfg)
	if err != nil {
		return driven.Backend{}, err
	}
	s := bunstore.New(newDialect(e.read, cfg.TablePrefix), e, cfg.Now)
	if err := s.Check(ctx); err != nil {
		_ = e.Close() // the first error is the one to tell
		return driven.Backend{}, err
	}
	return s.Backend(), nil
}

// FromDB uses a pool of the host's, as the host has configured it; it stays open
// after Close. A pool of one connection moves too: the store holds one for a
// transaction at a time and never waits for a second.
func FromDB(db *sql.DB, cfg Config) (driven.Backend, error) {
	cfg, err := cfg.check()
	if err != nil {
		return driven.Backend{}, err
	}
	if db == nil {
		return driven.Backend{}, invalid("database", "", "the *sql.DB is nil")
	}
	e := &engine{w: newWriter(&lent{db: db}), read: db}
	return bunstore.New(newDialect(db, cfg.TablePrefix), e, cfg.Now).Backend(), nil
}

// Tx wraps a transaction of the host's, *sql.Tx or bun.Tx, for enqueue.In.
func Tx(tx bun.IConn) driven.HostTx { return bunstore.Tx(name, tx) }

func open(dsn string) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, &domain.Fault{Code: domain.Invalid, Op: "open sqlite", Hint: "the path cannot be used", Err: err}
	}
	return sql.OpenDB(connector), nil
}

// dsn makes a file URI: every pragma in it holds on every connection of the pool.
func dsn(path string, params ...string) string {
	q := url.Values{}
	for i := 0; i < len(params); i += 2 {
		q.Add(params[i], params[i+1])
	}
	parts := strings.Split(filepath.ToSlash(filepath.Clean(path)), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "file:" + strings.Join(parts, "/") + "?" + q.Encode()
}

var prefixForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}$`)

func (c Config) check() (Config, error) {
	if c.TablePrefix == "" {
		c.TablePrefix = "rowlock_"
	}
	if c.Synchronous == "" {
		c.Synchronous = "FULL"
	}
	if !prefixForm.MatchString(c.TablePrefix) {
		return c, invalid("table prefix", c.TablePrefix, "use letters, digits and underscores, at most 40, no digit first")
	}
	if c.Synchronous != "FULL" && c.Synchronous != "NORMAL" {
		return c, invalid("synchronous", c.Synchronous, "use FULL or NORMAL")
	}
	return c, nil
}

func invalid(what, value, hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: "check " + what, Subject: domain.CleanText(value, 80), Hint: hint}
}
