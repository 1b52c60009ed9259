package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/domain"
)

// The floor does real work on the store's own tables: what it did can be seen there.
func TestFloor(t *testing.T) {
	cfg := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "floor.db")}
	f, err := sqlitestore.OpenFloor(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Insert(t.Context(), 2300); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Work(t.Context()); n != 2300 || err != nil {
		t.Fatal(n, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b := openBare(t, cfg)
	got, err := b.Store.Stats(t.Context(), "", 10_000)
	if err != nil || got.Totals() != (domain.Tally{Done: 2300}) {
		t.Errorf("%+v %v", got, err)
	}
}
