package pgstore

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
)

// keeping is a store on a host's pool of one connection, as pgx makes it by default.
func keeping(t *testing.T, dsn string) (*bunstore.Store, *engine) {
	t.Helper()
	cfg, err := Config{}.check()
	if err != nil {
		t.Fatal(err)
	}
	db := servers.Open(t, servers.With(dsn, servers.Param("default_query_exec_mode", "cache_statement")))
	db.SetMaxOpenConns(1)
	e := newEngine(db, cfg, false)
	s := bunstore.New(newDialect(db, cfg), e, nil)
	if _, err := s.Migrator().Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	return s, e
}

// count asks something that is a number.
func count(t *testing.T, c bunstore.Conn, query string) (n int) {
	t.Helper()
	rows, err := c.QueryContext(t.Context(), query, pgx.QueryExecModeExec)
	if err == nil {
		err = bunstore.Drain(rows, func(rows *sql.Rows) error { return rows.Scan(&n) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const prepared = "SELECT count(*) FROM pg_prepared_statements"

// fullLife takes jobs through all statements that are kept.
func fullLife(t *testing.T, s *bunstore.Store) {
	t.Helper()
	ctx := t.Context()
	mixed(t, s, 1, func(int) int { return 0 })
	mixed(t, s, 5, func(i int) int { return i % 2 })
	for i, ask := range []driven.ClaimRequest{asking(kinds(1), 1), asking(kinds(2), 4), asking(kinds(2), 1)} {
		got, err := s.Claim(ctx, ask)
		if err != nil || len(got.Jobs) != ask.N {
			t.Fatalf("claimed %d of %d: %v", len(got.Jobs), ask.N, err)
		}
		out := make([]driven.Outcome, len(got.Jobs))
		for n, j := range got.Jobs {
			out[n] = driven.Outcome{Ticket: j.Ticket(), To: domain.Done, Counts: true, Keep: time.Hour}
			if i == 2 {
				out[n].To, out[n].After, out[n].Error = domain.Scheduled, time.Hour, "no"
			}
		}
		if res, err := s.Settle(ctx, out); err != nil || len(res.Dropped) > 0 {
			t.Fatalf("settled, but %v: %v", res.Dropped, err)
		}
	}
}

// TestKeptPlans: statements that a session keeps from an empty and then tiny table
// walk over none that has grown since, in the same session and unseen by ANALYZE.
func TestKeptPlans(t *testing.T) {
	s, e := keeping(t, servers.Postgres(t))
	for _, text := range []string{"ALTER TABLE rowlock_jobs SET (autovacuum_enabled = false)", "VACUUM ANALYZE rowlock_jobs"} {
		if _, err := e.db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for range 8 { // from the sixth on a plan may be one for all
		fullLife(t, s)
	}
	if _, err := e.db.ExecContext(t.Context(), "VACUUM ANALYZE rowlock_jobs"); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		fullLife(t, s)
	}
	kept := count(t, e.db, prepared)
	if kept < 6 {
		t.Fatalf("only %d statements are kept", kept)
	}
	_, err := e.db.ExecContext(t.Context(), "INSERT INTO rowlock_jobs (id, state, queue, kind, priority, run_at, due_at, wake_at, created_at, args)"+
		" SELECT gen_random_uuid(), 0, 'q', 'k' || i % 2, 0, i, 1, 0, 1, '{}' FROM generate_series(1, 200000) AS i")
	if err != nil {
		t.Fatal(err)
	}
	const walked = "SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_xact_user_tables WHERE relname = 'rowlock_jobs'"
	err = e.Write(t.Context(), func(ctx context.Context, c bunstore.Conn) error {
		before := count(t, c, walked)
		fullLife(t, bunstore.New(newDialect(e.db, e.cfg), within{e, c}, nil))
		if n := count(t, c, walked) - before; n > 0 {
			t.Errorf("kept statements walked over %d rows", n)
		}
		return nil
	})
	if n := count(t, e.db, prepared); err != nil || n != kept {
		t.Errorf("%d statements are kept, before the table grew it were %d: %v", n, kept, err)
	}
}

// within is an engine inside a transaction that is there already.
type within struct {
	bunstore.Engine
	c bunstore.Conn
}

func (w within) Write(ctx context.Context, do bunstore.Work) error { return do(ctx, w.c) }
func (w within) One(ctx context.Context, do bunstore.Work) error   { return do(ctx, w.c) }

// TestKeepsNothingBehindAPooler: sessions that come and go keep nothing.
func TestKeepsNothingBehindAPooler(t *testing.T) {
	s, e := keeping(t, servers.PgBouncer(t))
	fullLife(t, s)
	if n := count(t, e.db, prepared); n > 0 {
		t.Errorf("%d statements are kept in the pooler's session", n)
	}
}

// TestKeptStatementsLost: a call survives that its statement is gone, or that the
// columns of its answer are others.
func TestKeptStatementsLost(t *testing.T) {
	ids := system.IDs()
	for name, text := range map[string]string{
		"thrown away":   "DEALLOCATE ALL",
		"other columns": "ALTER TABLE rowlock_jobs ALTER COLUMN attempts TYPE bigint",
	} {
		t.Run(name, func(t *testing.T) {
			s, e := keeping(t, servers.Postgres(t))
			fullLife(t, s)
			if count(t, e.db, prepared) == 0 {
				t.Fatal("nothing is kept")
			}
			if _, err := e.db.ExecContext(t.Context(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
			job := domain.NewJob{ID: ids.NewJobID(), Kind: "k0", Queue: "q", Args: []byte(`{}`)}
			if _, err := s.Insert(t.Context(), []domain.NewJob{job}); err != nil {
				t.Error(err)
			}
			if got, err := s.Claim(t.Context(), asking(kinds(1), 1)); err != nil || len(got.Jobs) != 1 || got.Jobs[0].Job.ID != job.ID {
				t.Errorf("claimed %v: %v", got.Jobs, err)
			}
			fullLife(t, s)
		})
	}
}

// TestKeptStatementsAfterMigrations: tables that are made anew are found.
func TestKeptStatementsAfterMigrations(t *testing.T) {
	s, _ := keeping(t, servers.Postgres(t))
	fullLife(t, s)
	for _, move := range []func(context.Context, int) ([]driven.Step, error){s.Migrator().Down, s.Migrator().Up} {
		if _, err := move(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	fullLife(t, s)
}
