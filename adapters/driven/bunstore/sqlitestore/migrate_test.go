package sqlitestore_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/storekit"
)

// migrate is what a migrating process does.
func migrate(ctx context.Context, path string) error {
	b, err := sqlitestore.Open(ctx, sqlitestore.Config{Path: path})
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	_, err = b.Schema.Up(ctx, 0)
	return err
}

// TestMigrateByManyCallers has 20 callers in this process and 4 other processes
// install an empty file at once: each step is applied once, nobody fails.
func TestMigrateByManyCallers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	var wg sync.WaitGroup
	var mu sync.Mutex
	applied := map[int]int{}
	for range 4 {
		wg.Go(func() {
			if err := start(t, "migrate", path).Run(); err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		wg.Go(func() {
			b := openBare(t, sqlitestore.Config{Path: path})
			steps, err := b.Schema.Up(t.Context(), 0)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, s := range steps {
				applied[s.Number]++
			}
		})
	}
	wg.Wait()
	for number, times := range applied {
		if times != 1 {
			t.Errorf("step %d was applied %d times", number, times)
		}
	}
	storekit.Complete(t, openBare(t, sqlitestore.Config{Path: path}))
}

// TestMigrateKilled kills migrating processes at random moments; whatever is left,
// the next one makes it whole.
func TestMigrateKilled(t *testing.T) {
	for range 15 {
		path := filepath.Join(t.TempDir(), "jobs.db")
		cmd := start(t, "migrate", path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(rand.N(60*time.Millisecond), func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // killed or not
		kill.Stop()
		b := openBare(t, sqlitestore.Config{Path: path})
		up(t, b)
		storekit.Complete(t, b)
	}
}

// A table that was lost is named, where it is needed, and comes back with the next
// migration; what does not need it goes on.
func TestLostTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	b, db := open(t, sqlitestore.Config{Path: path}), pool(t, path, nil)
	insert(t, b, jobs(1, "k"))
	for _, table := range []string{"rowlock_runners", "rowlock_jobs"} {
		if _, err := db.ExecContext(t.Context(), "DROP TABLE "+table); err != nil {
			t.Fatal(err)
		}
		_, err := b.Store.ListRunners(t.Context(), 1)
		if table == "rowlock_jobs" {
			_, err = b.Store.Insert(t.Context(), jobs(1, "k"))
		}
		wantCode(t, err, domain.Unsupported)
		if hint := domain.HintOf(err); !strings.Contains(hint, table) || !strings.Contains(hint, "rowlock migrate up") {
			t.Errorf("the hint is %q", hint)
		}
		if table == "rowlock_runners" {
			insert(t, b, jobs(1, "k"))
		}
		steps, err := b.Schema.Status(t.Context())
		if err != nil || unapplied(steps) != 1 {
			t.Errorf("without %s: %+v, %v", table, steps, err)
		}
		if done, err := b.Schema.Up(t.Context(), 0); err != nil || len(done) != 1 {
			t.Errorf("up without %s: %+v, %v", table, done, err)
		}
		if steps, err := b.Schema.Status(t.Context()); err != nil || unapplied(steps) != 0 {
			t.Errorf("after it: %+v, %v", steps, err)
		}
	}
	insert(t, b, jobs(1, "k"))
	if _, err := db.ExecContext(t.Context(), "DROP TABLE rowlock_runners"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Schema.Down(t.Context(), 0); err != nil {
		t.Errorf("down without a table: %v", err)
	}
}

func unapplied(steps []driven.Step) (n int) {
	for _, s := range steps {
		if s.AppliedAt.IsZero() {
			n++
		}
	}
	return n
}
