package sqlitestore_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/ports/driven"
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
	complete(t, openBare(t, sqlitestore.Config{Path: path}))
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
		complete(t, b)
	}
}

// complete checks that every step is recorded and that a job can be run.
func complete(t *testing.T, b driven.Backend) {
	t.Helper()
	steps, err := b.Schema.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.AppliedAt.IsZero() {
			t.Errorf("step %d is not recorded", s.Number)
		}
	}
	insert(t, b, jobs(1, "k"))
	if got := claim(t, b, 1, "k"); len(got.Jobs) != 1 {
		t.Errorf("claimed %d jobs of 1", len(got.Jobs))
	}
}
