package pgstore

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestSlotLockOrder: whoever writes several slots locks them in their order, also
// where the table is small, lies in the reverse order and the planner knows it. So
// two that write the same wait for each other and never deadlock.
func TestSlotLockOrder(t *testing.T) {
	ids := system.IDs()
	ticket := domain.Ticket{ID: ids.NewJobID(), Token: ids.NewToken()}
	hold := func(s *bunstore.Store) error {
		all := make([]driven.Holding, 9)
		for i := range all {
			all[i] = driven.Holding{Ticket: ticket, Slot: domain.Slot{Key: "l:k:", Index: 9 - i}, End: true}
		}
		return s.Hold(t.Context(), all)
	}
	for name, k := range map[string]struct {
		token any
		ends  int64
		call  func(s *bunstore.Store) error
	}{
		"given back": {uuid(ticket.Token), 0, hold},
		"over":       {nil, 1, func(s *bunstore.Store) error { _, err := s.Expire(t.Context(), 100); return err }},
		"idle": {nil, 0, func(s *bunstore.Store) error {
			_, err := s.Reap(t.Context(), driven.ReapRequest{Limit: 100})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := installed(t)
			_, err := e.db.ExecContext(t.Context(), "INSERT INTO rowlock_slots (bound, slot, job, token, ends_at, changed_at)"+
				" SELECT 'l:k:', 10 - i, $1::uuid, $2::uuid, $3::bigint, 1 FROM generate_series(1, 9) AS i", ticket.ID.String(), k.token, k.ends)
			if err == nil {
				_, err = e.db.ExecContext(t.Context(), "ANALYZE rowlock_slots")
			}
			if err != nil {
				t.Fatal(err)
			}
			inOrder(t, e.db, func() error { return k.call(s) })
		})
	}
}

// inOrder holds the fifth slot, and sees which ones a call holds that waits for it.
func inOrder(t *testing.T, db *sql.DB, call func() error) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec("UPDATE rowlock_slots SET changed_at = changed_at WHERE slot = 5"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- call() }()
	for count(t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 0 {
		select {
		case err := <-done:
			t.Fatalf("the call is over before it got a slot that is held: %v", err)
		default:
		}
	}
	free := count(t, db, "SELECT count(*) FROM (SELECT 1 FROM rowlock_slots AS j WHERE j.slot > 5 "+skip+") AS x")
	locked := 4 - count(t, db, "SELECT count(*) FROM (SELECT 1 FROM rowlock_slots AS j WHERE j.slot < 5 "+skip+") AS x")
	if got, want := fmt.Sprint(locked, free), "4 4"; got != want {
		t.Errorf("locked before and free behind it: %s, want %s", got, want)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
