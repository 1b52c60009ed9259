package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func errorsCases() []testCase {
	return []testCase{
		{"codes", errorsCodes},
		{"canceled", errorsCanceled},
		{"closed", errorsClosed},
		{"quiet", errorsQuiet},
		{"goes-on", errorsGoesOn},
	}
}

// calls is every method of the store, with a request that does something.
func (c *rig) calls(ctx context.Context) map[string]func() error {
	id := c.id()
	due := driven.EditRequest{IDs: []domain.JobID{id}}
	stale := driven.Claimed{Token: c.token(), Job: domain.Job{ID: id}}
	s, n := c.store, c.job()
	calls := c.calling(ctx)
	maps.Copy(calls, map[string]func() error{
		"Insert": func() error { _, err := s.Insert(ctx, []domain.NewJob{n}); return err },
		"Claim":  func() error { _, err := s.Claim(ctx, c.request(5)); return err },
		"Queues": func() error { _, err := s.Queues(ctx, "", 5); return err },
		"Settle": func() error { _, err := s.Settle(ctx, []driven.Outcome{done(stale)}); return err },
		"Renew": func() error {
			_, err := s.Renew(ctx, driven.RenewRequest{Tickets: renewals(stale), Lease: long})
			return err
		},
		"Recover":     func() error { _, err := s.Recover(ctx, sweep()); return err },
		"Retry":       func() error { _, err := s.Retry(ctx, due); return err },
		"Cancel":      func() error { _, err := s.Cancel(ctx, due); return err },
		"Delete":      func() error { _, err := s.Delete(ctx, due); return err },
		"Reschedule":  func() error { _, err := s.Reschedule(ctx, due); return err },
		"Job":         func() error { _, err := s.Job(ctx, id, ""); return err },
		"Jobs":        func() error { _, err := s.Jobs(ctx, domain.Filter{}, domain.Page{Size: 5}); return err },
		"Match":       func() error { _, err := s.Match(ctx, domain.Filter{}, domain.Page{Size: 5}); return err },
		"Count":       func() error { _, _, err := s.Count(ctx, domain.Filter{}, 5); return err },
		"Stats":       func() error { _, err := s.Stats(ctx, "", 5); return err },
		"Prune":       func() error { _, err := s.Prune(ctx, driven.PruneRequest{Limit: 5}); return err },
		"Beat":        func() error { return s.Beat(ctx, domain.RunnerInfo{ID: "r"}, long) },
		"Leave":       func() error { return s.Leave(ctx, "r") },
		"ListRunners": func() error { _, err := s.ListRunners(ctx, 5); return err },
	})
	return calls
}

// calling is every method for batches and schedules.
func (c *rig) calling(ctx context.Context) map[string]func() error {
	s, id := c.store, domain.BatchID(c.id())
	plan := c.plan("s-" + id.String())
	return map[string]func() error{
		"Pause":            func() error { return s.Pause(ctx, queueSwitch("q")) },
		"Resume":           func() error { return s.Resume(ctx, queueSwitch("q")) },
		"Paused":           func() error { _, err := s.Paused(ctx, 5); return err },
		"CreateBatch":      func() error { return s.CreateBatch(ctx, domain.NewBatch{ID: id}) },
		"SealBatch":        func() error { _, err := s.SealBatch(ctx, id, ""); return err },
		"FinishBatches":    func() error { _, err := s.FinishBatches(ctx, []domain.BatchID{id}); return err },
		"OpenBatches":      func() error { _, err := s.OpenBatches(ctx, domain.BatchID{}, 5); return err },
		"ForgetBatch":      func() error { return s.ForgetBatch(ctx, id, "") },
		"Batch":            func() error { _, err := s.Batch(ctx, id, ""); return err },
		"ListBatches":      func() error { _, err := s.ListBatches(ctx, domain.BatchFilter{}, domain.BatchPage{}); return err },
		"PruneBatches":     func() error { _, err := s.PruneBatches(ctx, driven.PruneRequest{Limit: 5}); return err },
		"DeclareSchedules": func() error { return s.DeclareSchedules(ctx, "ns", []domain.Schedule{plan}) },
		"DueSchedules":     func() error { _, err := s.DueSchedules(ctx, []string{kind}, 5); return err },
		"Advance":          func() error { _, err := s.Advance(ctx, domain.Tick{Key: planKey("none")}); return err },
		"AddSchedule":      func() error { return s.AddSchedule(ctx, c.plan("a-"+id.String())) },
		"PauseSchedule":    func() error { return s.PauseSchedule(ctx, planKey("none"), true) },
		"DeleteSchedule":   func() error { return s.DeleteSchedule(ctx, planKey("none")) },
		"Schedule":         func() error { _, err := s.Schedule(ctx, planKey("none")); return err },
		"ListSchedules":    func() error { _, err := s.ListSchedules(ctx, "", domain.ScheduleKey{}, 5); return err },
	}
}

// codes: every fault is a *domain.Fault whose code says what to do; the bare
// fault of the code matches it.
func errorsCodes(c *rig) {
	c.one(unique("k"))
	_, conflict := c.store.Insert(c.Context(), []domain.NewJob{c.job(uniqueOrError("k"))})
	_, notFound := c.store.Job(c.Context(), c.id(), "")
	ended, cancel := context.WithCancel(c.Context())
	cancel()
	_, canceled := c.store.Insert(ended, []domain.NewJob{c.job()})
	for _, k := range []struct {
		code domain.Code
		err  error
	}{
		{domain.Conflict, conflict},
		{domain.NotFound, notFound},
		{domain.NotFound, c.delete(c.id())[0]},
		{domain.Canceled, canceled},
	} {
		c.wantCode("the fault", k.err, k.code)
		if !errors.Is(k.err, &domain.Fault{Code: k.code}) {
			c.Fatalf("errors.Is does not match %v with its bare code %s", k.err, k.code)
		}
	}
	if !errors.Is(canceled, context.Canceled) {
		c.Fatalf("the cause of %v is lost: errors.Is finds no context.Canceled", canceled)
	}
}

// canceled: no method starts once its context is over, and nothing is written.
func errorsCanceled(c *rig) {
	ended, cancel := context.WithCancel(c.Context())
	cancel()
	for name, call := range c.calls(ended) {
		c.wantCode(name+" after its context ended", call(), domain.Canceled)
	}
	equal(c, "rows", c.count(domain.Filter{}), 0)
	equal(c, "schedules and open batches", len(c.plans())+len(c.openBatches(domain.BatchID{}, 100)), 0)
}

// closed: after Close every method is Unavailable, and Close again is no fault.
func errorsClosed(c *rig) {
	calls := c.calls(c.Context())
	c.ok("close", c.Backend.Close())
	c.ok("close again", c.Backend.Close())
	for name, call := range calls {
		c.wantCode(name+" after Close", call(), domain.Unavailable)
	}
}

// quiet: no fault shows the args of a job.
func errorsQuiet(c *rig) {
	const secret = "hunter2-O'Neil"
	n := c.job(unique("k"), withArgs(fmt.Sprintf(`{"password":%q}`, secret)), withMeta(fmt.Sprintf(`{"m":%q}`, secret)))
	c.add(n)
	ended, cancel := context.WithCancel(c.Context())
	cancel()
	_, first := c.store.Insert(ended, []domain.NewJob{n})
	n.ID, n.Unique = c.id(), &domain.Unique{Key: "k", OnConflict: domain.Error}
	_, second := c.store.Insert(c.Context(), []domain.NewJob{n})
	j := c.claimOne()
	third := c.retry(domain.Due{}, j.Job.ID)[0]
	for _, err := range []error{first, second, third} {
		if err == nil {
			c.Fatal("a call that must fail did not")
		}
		if strings.Contains(err.Error(), "hunter2") {
			c.Fatalf("the fault shows the args: %v", err)
		}
	}
}

// goes-on: a call that failed leaves nothing behind that hinders the next.
func errorsGoesOn(c *rig) {
	c.one(unique("k"))
	for range 30 {
		_, err := c.store.Insert(c.Context(), []domain.NewJob{c.job(), c.job(uniqueOrError("k"))})
		c.wantCode("insert of a held key", err, domain.Conflict)
		ended, cancel := context.WithCancel(c.Context())
		cancel()
		_, err = c.store.Claim(ended, c.request(1))
		c.wantCode("claim after its context ended", err, domain.Canceled)
	}
	c.settled(done(c.claimOne()))
	equal(c, "rows", c.count(domain.Filter{}), 1)
}
