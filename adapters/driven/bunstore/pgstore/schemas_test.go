package pgstore_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
)

// used are schemas whose cases are over, emptied for the next ones: to make their
// tables costs more than most cases do.
type used struct {
	db   *sql.DB
	mu   sync.Mutex
	free []string
}

// reusing has each case take the schema of one that is over, where there is one.
func (s suite) reusing(t testing.TB) suite {
	alone := s
	alone.pool, alone.mode = 4, pgx.QueryExecModeExec
	s.used = &used{db: alone.db(t, nil)}
	return s
}

// take says whether the configured schema is now one that is there, and empty.
func (u *used) take(t testing.TB, cfg *pgstore.Config) (there bool) {
	if u == nil {
		return false
	}
	u.mu.Lock()
	if n := len(u.free); n > 0 {
		cfg.Schema, there = u.free[n-1], true
		u.free = u.free[:n-1]
	}
	u.mu.Unlock()
	schema, prefix := cfg.Schema, cfg.TablePrefix
	t.Cleanup(func() { u.giveBack(t, schema, prefix) })
	return there
}

func (u *used) giveBack(t testing.TB, schema, prefix string) {
	if prefix == "" {
		prefix = "rowlock_"
	}
	var all strings.Builder
	for _, table := range []string{"jobs", "runners", "bounds", "slots", "job_keys", "batches", "schedules", "switches"} {
		all.WriteString("DELETE FROM " + pgx.Identifier{schema, prefix + table}.Sanitize() + "; ")
	}
	if _, err := u.db.ExecContext(context.WithoutCancel(t.Context()), all.String(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return // a case that changed its tables keeps them
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.free = append(u.free, schema)
}
