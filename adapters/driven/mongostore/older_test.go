package mongostore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
)

// A database of an older step works on; what needs a later one is refused, with
// what it is and the command that installs it, and is there after that.
func TestOlderDatabase(t *testing.T) {
	t.Parallel()
	b := open(t, mongostore.Config{URI: servers.Mongo(t)})
	if _, err := b.Schema.Up(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	s, member := b.Store, jobs(1)
	batch := domain.BatchID(ids.NewJobID())
	member[0].Batch = batch
	calls := map[string]func() error{
		"batches: create": func() error { return s.CreateBatch(t.Context(), domain.NewBatch{ID: batch}) },
		"batches: insert": func() error { _, err := s.Insert(t.Context(), member); return err },
		"batches: finish": func() error { _, err := s.FinishBatches(t.Context(), []domain.BatchID{batch}); return err },
		"schedules: list": func() error {
			_, err := s.ListSchedules(t.Context(), "", domain.ScheduleKey{}, 1)
			return err
		},
		"schedules: due": func() error { _, err := s.DueSchedules(t.Context(), []string{plainKind}, 1); return err },
	}
	for what, call := range calls {
		feature, _, _ := strings.Cut(what, ":")
		if err := call(); domain.CodeOf(err) != domain.Unsupported || !strings.Contains(err.Error(), feature) || !strings.Contains(err.Error(), "rowlock migrate up") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	worksOn(t, s)
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := calls["batches: create"](); err != nil {
		t.Error(err)
	}
	for what, call := range calls {
		if what != "batches: create" {
			if err := call(); err != nil {
				t.Errorf("%s, once it is installed: %v", what, err)
			}
		}
	}
}

// worksOn has a job with a failure job die, be retried and go.
func worksOn(t *testing.T, s driven.Store) {
	t.Helper()
	if _, err := s.Insert(t.Context(), jobs(1)); err != nil {
		t.Fatal(err)
	}
	c := claim(t, s, 1).Jobs[0]
	made, err := domain.FailureJob(&c.Job, "test/failed", c.Token, 1, 1, "broken")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Settle(t.Context(), []driven.Outcome{{Ticket: c.Ticket(), To: domain.Dead, Counts: true, Keep: time.Millisecond, Failure: &made}})
	if err != nil || len(got.Dropped)+len(got.Refused) > 0 {
		t.Fatal(got, err)
	}
	if edited, err := s.Retry(t.Context(), driven.EditRequest{IDs: []domain.JobID{c.Job.ID}}); err != nil || edited[0].Err != nil {
		t.Fatal(edited, err)
	}
	c = claim(t, s, 1).Jobs[0]
	if _, err := s.Settle(t.Context(), []driven.Outcome{{Ticket: c.Ticket(), To: domain.Done, Counts: true, Keep: time.Millisecond}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recover(t.Context(), driven.RecoverRequest{Limit: 1}); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		pruned, err := s.Prune(t.Context(), driven.PruneRequest{Limit: 10, Defer: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if pruned.Removed == 1 {
			return
		}
	}
	t.Fatal("nothing was pruned")
}
