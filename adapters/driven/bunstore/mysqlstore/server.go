package mysqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// server is what was learnt of the server when the store was opened.
type server struct {
	database string // with the tables
	skip     bool   // a read can skip locked rows
}

// oldest names the versions that have all that the store needs.
const oldest = "it has no JSON_TABLE: use MySQL 8.0.13, MariaDB 10.6 or later"

// ask learns it. What a server can do is tried, not told from its version.
func ask(ctx context.Context, e *engine, cfg Config) (srv server, err error) {
	var version string
	err = e.Read(ctx, func(ctx context.Context, c bunstore.Conn) error {
		var current sql.NullString
		if err := bunstore.One(ctx, c, bunstore.Stmt{Text: "SELECT VERSION(), DATABASE()"}, nil, &version, &current); err != nil {
			return err
		}
		if srv.database = cfg.Database; srv.database == "" {
			srv.database = current.String
		}
		tables, err := knows(ctx, c, "SELECT COUNT(*) FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a INT PATH '$')) AS t")
		if err != nil {
			return err
		}
		if !tables {
			return unfit(version)
		}
		srv.skip = !cfg.NoSkipLocked
		if srv.skip {
			srv.skip, err = knows(ctx, c, "SELECT 1 FROM (SELECT 1 AS one) AS t "+skip)
		}
		return err
	})
	switch {
	case err != nil:
		return srv, asFault("open", err)
	case srv.database == "":
		return srv, invalid("database", "", "name the database in the DSN")
	case !nameForm.MatchString(srv.database):
		return srv, invalid("database", srv.database, nameHint)
	}
	return srv, nil
}

// knows says whether the server understands a query.
func knows(ctx context.Context, c bunstore.Conn, text string) (bool, error) {
	var one int
	err := bunstore.One(ctx, c, bunstore.Stmt{Text: text}, nil, &one)
	if n := number(err); n == erParse || n == erNoFunction {
		return false, nil
	}
	return err == nil, err
}

func unfit(version string) error {
	return &domain.Fault{Code: domain.Unsupported, Op: "open mysql", Subject: domain.CleanText(version, 80), Hint: oldest}
}

func asFault(op string, err error) error {
	if known := (*domain.Fault)(nil); errors.As(err, &known) {
		return err
	}
	code, hint := codeOf(err)
	return &domain.Fault{Code: code, Op: op, Hint: hint, Err: err}
}

// table is a table's name, qualified and quoted: what a session calls its own
// database may change.
func (s server) table(name string) string { return "`" + s.database + "`.`" + name + "`" }
