package mongostore_test

import (
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// row is one job, and whether it is there.
func (w *world) row(id domain.JobID) (job domain.Job, there bool) {
	w.Helper()
	job, err := w.store.Job(w.Context(), id, "")
	if domain.CodeOf(err) == domain.NotFound {
		return job, false
	}
	w.ok("job", err)
	return job, true
}

// ranOnce checks that a job is there and was run once.
func (w *world) ranOnce(what string, id domain.JobID) domain.Job {
	w.Helper()
	job, there := w.row(id)
	if !there || job.State != domain.Done || job.Attempts != 1 {
		w.Fatalf("%s: there %v, %s after %d attempts", what, there, job.State, job.Attempts)
	}
	return job
}

// plain claims so many new jobs, and nothing else.
func (w *world) plain(n int) []driven.Claimed {
	w.Helper()
	_, err := w.store.Insert(w.Context(), jobs(n))
	w.ok("insert", err)
	got, err := w.store.Claim(w.Context(), driven.ClaimRequest{
		Token: ids.NewToken(), Runner: "runner", Lease: lease, Queue: "default", Kinds: []string{plainKind}, N: n,
	})
	w.ok("claim", err)
	if len(got.Jobs) != n {
		w.Fatalf("%d jobs were claimed", len(got.Jobs))
	}
	return got.Jobs
}

// brokenFailure has two that die with a failure job and one whose failure job is
// refused.
func brokenFailure(w *world) (func() error, func()) {
	all := w.plain(3)
	outcomes := make([]driven.Outcome, len(all))
	for i := range all {
		made, err := domain.FailureJob(&all[i].Job, limitedKind, all[i].Token, 1, 5, "broken")
		w.ok("make failure job", err)
		outcomes[i] = driven.Outcome{Ticket: all[i].Ticket(), To: domain.Dead, Counts: true, Error: "broken", Keep: domain.KeepForever, Failure: &made}
	}
	outcomes[1].Failure.Batch = domain.BatchID(ids.NewJobID()) // there is none
	w.check = func(again bool) {
		for i, o := range outcomes {
			job, _ := w.row(o.Ticket.ID)
			if again && job.State != domain.Dead {
				w.Fatalf("job %d is %s", i, job.State)
			}
			if job.State == domain.Dead && i != 1 {
				if got := w.ranOnce("the failure job", o.Failure.ID); string(got.Args) != string(o.Failure.Args) {
					w.Fatalf("the args of the failure job are %s, want %s", got.Args, o.Failure.Args)
				}
				continue
			}
			if _, there := w.row(o.Failure.ID); there && i != 1 {
				w.Fatalf("a job that is %s has a failure job", job.State)
			}
		}
	}
	var got driven.Settled
	call := func() (err error) { got, err = w.store.Settle(w.Context(), outcomes); return err }
	return call, func() {
		// that one was refused is not known any more where all was written before
		if len(got.Dropped) > 0 || len(got.Refused) > 1 || len(got.Refused) == 1 && got.Refused[0] != outcomes[1].Ticket.ID {
			w.Fatalf("settled: %+v", got)
		}
	}
}

// brokenStall has claims whose lease ran out, of jobs that die by that.
func brokenStall(w *world) (func() error, func()) {
	all := w.plain(2)
	w.clock.Advance(lease + time.Millisecond)
	w.check = func(again bool) {
		for i := range all {
			made, err := domain.FailureJob(&all[i].Job, limitedKind, all[i].Token, 1, 7, domain.StallMessage("runner"))
			w.ok("make failure job", err)
			job, _ := w.row(all[i].Job.ID)
			switch got, there := w.row(made.ID); {
			case again && job.State != domain.Dead, there != (job.State == domain.Dead):
				w.Fatalf("the job is %s, and its failure job there: %v", job.State, there)
			case there && (got.Attempts != 1 || string(got.Args) != string(made.Args)):
				w.Fatalf("the failure job had %d attempts, its args are %s", got.Attempts, got.Args)
			}
		}
	}
	call := func() error {
		_, err := w.store.Recover(w.Context(), driven.RecoverRequest{Limit: 100, Failures: map[string]string{plainKind: limitedKind}, Attempts: 7})
		return err
	}
	return call, nothing
}

// brokenReplace meets one that waits, one that runs, and nobody.
func brokenReplace(w *world) (func() error, func()) {
	keyed := func(key string, how domain.OnConflict) domain.NewJob {
		n := jobs(1)[0]
		n.Unique = &domain.Unique{Key: key, OnConflict: how}
		return n
	}
	there := []domain.NewJob{keyed("waits", domain.Skip), keyed("later", domain.Skip)}
	there[0].Due.After, there[1].Due.After = time.Second, time.Second
	_, err := w.store.Insert(w.Context(), there)
	w.ok("insert", err)
	call := []domain.NewJob{keyed("waits", domain.Replace), keyed("later", domain.Reschedule), keyed("new", domain.Replace)}
	call[0].Args, call[0].Priority = []byte(`"replaced"`), 3
	var got []driven.Inserted
	w.check = func(again bool) {
		job, _ := w.row(there[0].ID)
		if took := string(job.Args) == `"replaced"`; took != (job.Priority == 3) || again && !took || job.Attempts != 1 {
			w.Fatalf("the holder has %s, priority %d, %d attempts", job.Args, job.Priority, job.Attempts)
		}
		for _, n := range call[:2] {
			if _, there := w.row(n.ID); there {
				w.Fatal("a second job of the key is there")
			}
		}
		if _, there := w.row(call[2].ID); again && !there {
			w.Fatal("the job without a holder is not there")
		}
	}
	return func() (err error) { got, err = w.store.Insert(w.Context(), call); return err }, func() {
		if got[0].Result != domain.Replaced || got[1].Result != domain.Rescheduled || got[0].ID != there[0].ID {
			w.Fatalf("answers: %+v", got)
		}
	}
}

// open makes a batch with a callback and so many members. Its sweep is that of the
// application.
func (w *world) open(members int) (domain.BatchID, []domain.NewJob) {
	w.Helper()
	id := domain.BatchID(ids.NewJobID())
	callback := domain.Template{Kind: plainKind, Queue: "default", Args: []byte(`{"own":1}`)}
	w.ok("create batch", w.store.CreateBatch(w.Context(), domain.NewBatch{ID: id, Name: "b", Callback: &callback}))
	all := jobs(members)
	for i := range all {
		all[i].Batch = id
	}
	w.upkeep = func() {
		open, err := w.store.OpenBatches(w.Context(), domain.BatchID{}, 10)
		w.ok("open batches", err)
		_, err = w.store.FinishBatches(w.Context(), open)
		w.ok("finish batches", err)
	}
	return id, all
}

// over checks a batch that is over: its callback ran once and knows the members
// that there are. Then it is forgotten.
func (w *world) over(id domain.BatchID) (total int64) {
	w.Helper()
	b, err := w.store.Batch(w.Context(), id, "")
	w.ok("batch", err)
	members, err := w.store.Match(w.Context(), domain.Filter{Batch: id}, domain.Page{Size: 100})
	w.ok("members", err)
	if b.State() != domain.BatchFinished || b.Total != int64(len(members)) || b.Done != b.Total {
		w.Fatalf("the batch is %s with %d of %d, and has %d members", b.State(), b.Done, b.Total, len(members))
	}
	job := w.ranOnce("the callback", b.CallbackJob)
	if job.CreatedAt.Before(b.FinishedAt) {
		w.Fatal("the callback is older than the end of its batch")
	}
	w.ok("forget batch", w.store.ForgetBatch(w.Context(), id, ""))
	return b.Total
}

func brokenAdd(w *world) (func() error, func()) {
	id, all := w.open(3)
	w.check = func(again bool) {
		_, err := w.store.SealBatch(w.Context(), id, "")
		w.ok("seal", err)
		w.upkeep()
		w.start()
		w.end(done, 0)
		if total := w.over(id); again && total != 3 {
			w.Fatalf("the batch has %d members", total)
		}
	}
	return func() error { _, err := w.store.Insert(w.Context(), all); return err }, nothing
}

func brokenSeal(w *world) (func() error, func()) {
	id, all := w.open(3)
	_, err := w.store.Insert(w.Context(), all)
	w.ok("insert", err)
	var got domain.Sealed
	w.check = func(again bool) {
		if !again { // it may be open still
			_, err := w.store.SealBatch(w.Context(), id, "")
			w.ok("seal", err)
			w.upkeep()
			w.start()
			w.end(done, 0)
		}
		if total := w.over(id); total != 3 {
			w.Fatalf("the batch has %d members", total)
		}
	}
	return func() (err error) { got, err = w.store.SealBatch(w.Context(), id, ""); return err }, func() {
		if got.Total != 3 {
			w.Fatalf("sealed: %+v", got)
		}
	}
}

func brokenFinish(w *world) (func() error, func()) {
	id, all := w.open(2)
	_, err := w.store.Insert(w.Context(), all)
	w.ok("insert", err)
	_, err = w.store.SealBatch(w.Context(), id, "")
	w.ok("seal", err)
	w.start()
	w.end(done, 0)
	w.check = func(bool) {
		w.over(id)
		if open, err := w.store.OpenBatches(w.Context(), domain.BatchID{}, 10); err != nil || len(open) > 0 {
			w.Fatalf("batches stand half-way: %v, %v", open, err)
		}
	}
	return func() error { _, err := w.store.FinishBatches(w.Context(), []domain.BatchID{id}); return err }, nothing
}
