package backends

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mssqlstore"
	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/adapters/driven/pgnotify"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Options is what any DSN may be opened with. A store leaves out what it has no use for.
type Options struct {
	TablePrefix string // "" is the store's own default
	Synchronous string // SQLite: FULL (the default) or NORMAL
}

// scheme is a line of the table: how a DSN begins, what opens it by the part
// behind that, and what tells whether nothing was ever made there; without fresh
// it is never taken as new.
type scheme struct {
	name  string
	open  func(ctx context.Context, rest string, o Options) (driven.Backend, error)
	fresh func(ctx context.Context, rest string) (bool, error)
}

func schemes() []scheme {
	return []scheme{
		{name: "sqlite:", open: openSQLite, fresh: freshSQLite},
		{name: "memory:", open: openMemory},
		{name: "postgres:", open: openPostgres},
		{name: "postgresql:", open: openPostgres},
		{name: "mysql:", open: openMySQL},
		{name: "mariadb:", open: openMySQL},
		{name: "sqlserver:", open: openSQLServer},
		{name: "mongodb:", open: openMongo("mongodb:")},
		{name: "mongodb+srv:", open: openMongo("mongodb+srv:")},
	}
}

// Open opens the store that a DSN names, e.g. "sqlite:app.db", "memory:" or
// "postgres://user@host/database". It does not migrate. No part of a DSN but its
// scheme is ever shown: the rest may hold a password.
func Open(ctx context.Context, dsn string, o Options) (driven.Backend, error) {
	s, rest, err := find(dsn)
	if err != nil {
		return driven.Backend{}, err
	}
	return s.open(ctx, rest, o)
}

// Fresh says, before Open, whether the DSN names a file that is not there or
// holds nothing yet: one that nobody minds being migrated.
func Fresh(ctx context.Context, dsn string) (bool, error) {
	s, rest, err := find(dsn)
	if err != nil || s.fresh == nil {
		return false, err
	}
	return s.fresh(ctx, rest)
}

func find(dsn string) (scheme, string, error) {
	for _, s := range schemes() {
		if rest, ok := strings.CutPrefix(dsn, s.name); ok {
			return s, rest, nil
		}
	}
	return scheme{}, "", &domain.Fault{Code: domain.Invalid, Op: "open store", Hint: "the DSN does not begin with a scheme; " + known()}
}

// known names the schemes that can be opened.
func known() string {
	var names []string
	for _, s := range schemes() {
		names = append(names, s.name)
	}
	return "a DSN begins with " + strings.Join(names, " or ") + ", e.g. sqlite:app.db"
}

func openMemory(context.Context, string, Options) (driven.Backend, error) {
	return memstore.Open(memstore.Config{Now: system.Clock().Now})
}

// pathOf is the file of a SQLite DSN. One slash more or less must not lead into
// another directory: what looks like a URL with a host names no file.
func pathOf(rest string) (string, error) {
	if strings.HasPrefix(rest, "//") && !strings.HasPrefix(rest, "///") {
		return "", &domain.Fault{Code: domain.Invalid, Op: "open store", Subject: "sqlite://", Hint: "give a path: sqlite:app.db, or sqlite:/dir/app.db"}
	}
	return rest, nil
}

func freshSQLite(ctx context.Context, rest string) (bool, error) {
	path, err := pathOf(rest)
	if err != nil {
		return false, err
	}
	return sqlitestore.Fresh(ctx, path)
}

func openSQLite(ctx context.Context, rest string, o Options) (driven.Backend, error) {
	path, err := pathOf(rest)
	if err != nil {
		return driven.Backend{}, err
	}
	return sqlitestore.Open(ctx, sqlitestore.Config{Path: path, TablePrefix: o.TablePrefix, Synchronous: o.Synchronous})
}

// dsnOf gives a URL its scheme back. What is no URL is the driver's own form,
// e.g. "host=db dbname=app" or "user@tcp(host:3306)/app".
func dsnOf(scheme, rest string) string {
	if strings.HasPrefix(rest, "//") {
		return scheme + rest
	}
	return rest
}

func openPostgres(ctx context.Context, rest string, o Options) (driven.Backend, error) {
	dsn := dsnOf("postgres:", rest)
	n, err := pgnotify.New(pgnotify.Config{DSN: dsn, Name: "public." + cmp.Or(o.TablePrefix, "rowlock_")})
	if err != nil {
		return driven.Backend{}, err
	}
	b, err := pgstore.Open(ctx, pgstore.Config{DSN: dsn, TablePrefix: o.TablePrefix, Hint: n.Hint})
	if err != nil {
		_ = n.Close() // the first error is the one to tell
		return b, err
	}
	store := b.Close
	b.Notify, b.Close = n, func() error { return errors.Join(n.Close(), store()) }
	return b, nil
}

func openMySQL(ctx context.Context, rest string, o Options) (driven.Backend, error) {
	return mysqlstore.Open(ctx, mysqlstore.Config{DSN: dsnOf("mysql:", rest), TablePrefix: o.TablePrefix})
}

func openSQLServer(ctx context.Context, rest string, o Options) (driven.Backend, error) {
	return mssqlstore.Open(ctx, mssqlstore.Config{DSN: dsnOf("sqlserver:", rest), TablePrefix: o.TablePrefix})
}

func openMongo(scheme string) func(context.Context, string, Options) (driven.Backend, error) {
	return func(ctx context.Context, rest string, o Options) (driven.Backend, error) {
		return mongostore.Open(ctx, mongostore.Config{URI: scheme + rest, CollectionPrefix: o.TablePrefix})
	}
}
