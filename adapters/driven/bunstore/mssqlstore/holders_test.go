package mssqlstore

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestInsertOverHolders: what is free is inserted, the holders are looked for by one
// statement, and those that wait are changed by one more.
func TestInsertOverHolders(t *testing.T) {
	for changed, statements := range map[int]int{1: 3, 0: 5} {
		t.Run(fmt.Sprint(changed, " changed"), func(t *testing.T) { insertOver(t, changed, statements) })
	}
}

// insertOver has the holder that waits be changed at once, or found to have run for a
// moment: then it is locked by the look.
func insertOver(t *testing.T, changed, statements int) {
	waits, runs := domain.JobID{1}, domain.JobID{2}
	jobs := make([]domain.NewJob, 3)
	for i, key := range []string{"waits", "runs", "free"} {
		jobs[i] = domain.NewJob{ID: domain.JobID{9, byte(i)}, Kind: "k", Queue: "q", Args: []byte("{}"), Due: domain.Due{After: time.Hour}}
		jobs[i].Unique = &domain.Unique{Key: key, OnConflict: domain.Replace}
	}
	b, s := talk(t, func(text string, _ []any) ([][][]driver.Value, error) {
		switch {
		case strings.Contains(text, "UNION ALL"):
			return [][][]driver.Value{{
				{waits[:], []byte("u0:waits"), int64(domain.Blocked), int64(0)},
				{runs[:], []byte("u0:runs"), int64(domain.Running), int64(0)},
			}}, nil
		case strings.Contains(text, "UPDATE j SET state"):
			return [][][]driver.Value{make([][]driver.Value, changed)}, nil
		}
		return [][][]driver.Value{{{jobs[2].ID[:]}}}, nil
	})
	got, err := b.Store.Insert(t.Context(), jobs)
	want := []driven.Inserted{{ID: waits, Result: domain.Replaced}, {ID: runs, Result: domain.Existing}, {ID: jobs[2].ID}}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("answers %v (%v), want %v", got, err, want)
	}
	if len(s.asked) != statements || len(s.texts("UPDLOCK")) != 1-changed {
		t.Errorf("%d statements, %d of them lock, want %d and %d", len(s.asked), len(s.texts("UPDLOCK")), statements, 1-changed)
	}
	moved := s.texts("UPDATE j SET state")
	if len(moved) != 2-changed || strings.Count(string(moved[0].args[1].(mssql.NVarCharMax)), `"q"`) != 1 {
		t.Errorf("changed by %v", moved)
	}
}

// TestInsertWhereHoldersVanish: a key that is held whenever it is written and free
// whenever it is looked for is given up.
func TestInsertWhereHoldersVanish(t *testing.T) {
	job := domain.NewJob{ID: domain.JobID{9}, Kind: "k", Queue: "q", Args: []byte("{}"), Unique: &domain.Unique{Key: "u", OnConflict: domain.Reschedule}}
	b, s := talk(t, func(string, []any) ([][][]driver.Value, error) { return nil, nil })
	_, err := b.Store.Insert(t.Context(), []domain.NewJob{job})
	wantCode(t, err, domain.Contended)
	if n := len(s.texts("INSERT")); n < 3 || n > 8 {
		t.Errorf("tried %d times", n)
	}
}
