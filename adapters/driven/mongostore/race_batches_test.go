package mongostore_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/faults"
)

// duel is a store between whose commands another one acts.
type duel struct {
	*testing.T
	s, other driven.Store
	plan     *faults.Plan
	clock    *conformance.Clock
}

// Who loses a race between two commands of a call, and what comes of it.
func TestRacesOfBatchesAndKeys(t *testing.T) {
	all := newShelf(t)
	for name, play := range map[string]func(*duel){
		"a seal waits for the call that adds":             sealWaits,
		"a call that comes too late is no part of it":     tooLate,
		"a retry has a batch wait that is being finished": retryWhileFinishing,
		"the holder is claimed before it is replaced":     claimedBefore,
		"the holder is gone before it is replaced":        goneBefore,
		"the schedule is paused before it moves":          pausedBefore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &duel{T: t, plan: faults.NewPlan(), clock: conformance.NewClock()}
			cfg := mongostore.Config{URI: all.take(t), Now: d.clock.Now}
			d.s = harness(t, cfg, func(o *options.ClientOptions) { o.SetDialer(faults.Dialer{Plan: d.plan}) }).Backend.Store
			d.other = open(t, cfg).Store
			_, err := d.s.ListSchedules(t.Context(), "", domain.ScheduleKey{}, 1) // so that it has looked for its steps
			d.ok("list schedules", err)
			play(d)
			if d.plan.Pending() > 0 {
				t.Errorf("the other never acted: %q", d.plan.Statements())
			}
		})
	}
}

func (d *duel) ok(what string, err error) {
	d.Helper()
	if err != nil {
		d.Fatalf("%s: %v; %q", what, err, d.plan.Statements())
	}
}

// before has the other act before the n-th command from here.
func (d *duel) before(n int, act func()) {
	d.plan.Reset()
	d.plan.At(n, faults.Before, faults.Do(act))
}

func (d *duel) batch(members int) (domain.BatchID, []domain.NewJob) {
	d.Helper()
	id := domain.BatchID(ids.NewJobID())
	d.ok("create batch", d.s.CreateBatch(d.Context(), domain.NewBatch{ID: id}))
	all := jobs(members)
	for i := range all {
		all[i].Batch = id
	}
	return id, all
}

func (d *duel) insert(all []domain.NewJob) []driven.Inserted {
	d.Helper()
	got, err := d.s.Insert(d.Context(), all)
	d.ok("insert", err)
	return got
}

func (d *duel) ended(n int) {
	d.Helper()
	var outcomes []driven.Outcome
	for _, c := range claim(d, d.other, n).Jobs {
		outcomes = append(outcomes, driven.Outcome{Ticket: c.Ticket(), To: domain.Done, Counts: true, Keep: time.Hour})
	}
	_, err := d.other.Settle(d.Context(), outcomes)
	d.ok("settle", err)
}

func sealWaits(d *duel) {
	id, all := d.batch(3)
	sealed := make(chan int64, 1)
	d.before(2, func() { // the call is under way, and nothing of it is there
		go func() {
			got, err := d.other.SealBatch(d.Context(), id, "")
			if err != nil {
				d.Error(err)
			}
			sealed <- got.Total
		}()
		for {
			if b, err := d.other.Batch(d.Context(), id, ""); err != nil || !b.SealedAt.IsZero() {
				return
			}
		}
	})
	d.insert(all)
	if total := <-sealed; total != 3 {
		d.Errorf("the seal counted %d members, want the 3 of the call that was under way", total)
	}
	if _, err := d.s.Insert(d.Context(), jobsOf(id, 1)); domain.CodeOf(err) != domain.Conflict {
		d.Errorf("got %v, want a conflict", err)
	}
}

func jobsOf(id domain.BatchID, n int) []domain.NewJob {
	all := jobs(n)
	for i := range all {
		all[i].Batch = id
	}
	return all
}

func tooLate(d *duel) {
	id, all := d.batch(2)
	d.before(2, func() {
		d.clock.Advance(time.Hour)
		if got, err := d.other.SealBatch(d.Context(), id, ""); err != nil || got.Total != 0 {
			d.Error(got, err)
		}
	})
	if _, err := d.s.Insert(d.Context(), all); domain.CodeOf(err) != domain.Conflict {
		d.Errorf("got %v, want a conflict", err)
	}
	if n, _, err := d.other.Count(d.Context(), domain.Filter{}, 10); err != nil || n > 0 {
		d.Errorf("%d jobs are left, %v", n, err)
	}
}

func retryWhileFinishing(d *duel) {
	for n := 2; n <= 6; n++ { // from after the look at the batch to the decision
		id, all := d.batch(2)
		d.insert(all)
		_, err := d.s.SealBatch(d.Context(), id, "")
		d.ok("seal", err)
		d.ended(2)
		d.before(n, func() {
			got, err := d.other.Retry(d.Context(), driven.EditRequest{IDs: []domain.JobID{all[0].ID}})
			if err != nil || got[0].Err != nil {
				d.Error(got, err)
			}
		})
		if got, err := d.s.FinishBatches(d.Context(), []domain.BatchID{id}); err != nil || len(got) > 0 {
			d.Fatalf("the batch finished while a member waits: %v, %v; before command %d of %q", got, err, n, d.plan.Statements())
		}
		d.ended(1)
		got, err := d.s.FinishBatches(d.Context(), []domain.BatchID{id})
		if err != nil || len(got) != 1 || got[0].Batch.Done != 2 {
			d.Fatalf("finished: %+v, %v", got, err)
		}
	}
}

// replacing has a holder, to which something happens between the look and the write.
func (d *duel) replacing(act func(domain.JobID)) (holder domain.JobID, n domain.NewJob, got driven.Inserted) {
	d.Helper()
	old := jobs(1)
	old[0].Unique = &domain.Unique{Key: "k"}
	d.insert(old)
	call := jobs(1)
	call[0].Unique = &domain.Unique{Key: "k", OnConflict: domain.Replace}
	d.before(3, func() { act(old[0].ID) })
	return old[0].ID, call[0], d.insert(call)[0]
}

func claimedBefore(d *duel) {
	holder, _, got := d.replacing(func(domain.JobID) { claim(d, d.other, 1) })
	if got.ID != holder || got.Result != domain.Existing {
		d.Errorf("got %+v, want the holder, untouched", got)
	}
	if job, err := d.s.Job(d.Context(), holder, ""); err != nil || string(job.Args) != "0" || job.State != domain.Running {
		d.Errorf("the holder is %s, %v", job.State, err)
	}
}

func goneBefore(d *duel) {
	_, n, got := d.replacing(func(id domain.JobID) {
		if _, err := d.other.Delete(d.Context(), driven.EditRequest{IDs: []domain.JobID{id}}); err != nil {
			d.Error(err)
		}
	})
	if got.ID != n.ID || got.Result != domain.InsertedNew {
		d.Errorf("got %+v, want a new job", got)
	}
}

func pausedBefore(d *duel) {
	key := domain.ScheduleKey{Name: "s"}
	s := domain.Schedule{ScheduleKey: key, Timing: domain.Timing{Every: time.Minute}, Job: domain.Template{Kind: plainKind, Queue: "default", Args: []byte(`1`)}}
	d.ok("add schedule", d.s.AddSchedule(d.Context(), s))
	d.before(1, func() {
		if err := d.other.PauseSchedule(d.Context(), key, true); err != nil {
			d.Error(err)
		}
	})
	got, err := d.s.Advance(d.Context(), domain.Tick{Key: key, Rev: 1, To: d.clock.Now(), Fired: d.clock.Now(), Jobs: jobs(1)})
	if err != nil || got.Moved || len(got.Jobs) > 0 {
		d.Errorf("a paused schedule moved: %+v, %v", got, err)
	}
	if n, _, err := d.other.Count(d.Context(), domain.Filter{}, 10); err != nil || n > 0 {
		d.Errorf("%d jobs were added, %v", n, err)
	}
}
