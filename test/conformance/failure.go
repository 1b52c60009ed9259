package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func failureCases() []testCase {
	return []testCase{
		{"added", failureAdded},
		{"once", failureOnce},
		{"refused", failureRefused},
		{"many", failureMany},
		{"stalled", failureStalled},
		{"last", failureLast},
	}
}

// failureKind is the kind of most failure jobs.
const failureKind = "test/failed"

// failureOf is the failure job that a runner makes for a claim that dies.
func (c *rig) failureOf(j driven.Claimed, k, message string, most int) domain.NewJob {
	c.Helper()
	made, err := domain.FailureJob(&j.Job, k, j.Token, j.Job.Attempts+1, most, message)
	c.ok("make a failure job", err)
	return made
}

// buried is the outcome of a claim that dies and has a failure job.
func (c *rig) buried(j driven.Claimed) driven.Outcome {
	c.Helper()
	o := died(j)
	made := c.failureOf(j, failureKind, o.Error, 5)
	o.Failure = &made
	return o
}

// settledAs gives the whole answer.
func (c *rig) settledAs(outcomes ...driven.Outcome) driven.Settled {
	c.Helper()
	got, err := c.store.Settle(c.Context(), outcomes)
	c.ok("settle", err)
	return got
}

// failures gives how many failure jobs there are.
func (c *rig) failures() int {
	c.Helper()
	return c.count(domain.Filter{Kind: failureKind})
}

// isFailure checks the row of a failure job against what was asked for.
func (c *rig) isFailure(n domain.NewJob) {
	c.Helper()
	row := c.inState(n.ID, domain.Ready)
	checkAsked(c, n, row)
	checkUntouched(c, row)
}

// added: with the death of its job comes the failure job, due at once, in its queue
// and tenant, with all that happened in its args, however long these are.
func failureAdded(c *rig) {
	longest := `"` + strings.Repeat("x", domain.MaxArgs-2) + `"`
	for _, args := range []string{`{"to":9007199254740993}`, longest} {
		j := c.running(ofTenant("acme"), withArgs(args), unique("k"), failing(failureKind))
		o := c.buried(j)
		equal(c, "answer", c.settledAs(o), driven.Settled{})
		c.inState(j.Job.ID, domain.Dead)
		c.isFailure(*o.Failure)
		r := c.request(10)
		r.Kinds = []string{failureKind}
		got := c.ask(r).Jobs
		equalIDs(c, "failure jobs to claim", idsOf(got), []domain.JobID{o.Failure.ID})
		var told struct {
			Job struct {
				ID          domain.JobID    `json:"id"`
				Args        json.RawMessage `json:"args"`
				MaxAttempts int             `json:"max_attempts"`
			} `json:"job"`
			Error string `json:"error"`
		}
		c.ok("read the args", json.Unmarshal(got[0].Job.Args, &told))
		equal(c, "what it is told", fmt.Sprint(told.Job.ID, told.Job.MaxAttempts, told.Error), fmt.Sprint(j.Job.ID, 5, o.Error))
		equal(c, "args that it is told", string(told.Job.Args), args)
		c.settled(done(got[0]))
		c.wantNil("delete", c.delete(j.Job.ID, o.Failure.ID)...)
	}
	for what, change := range map[string]func(*driven.Outcome){
		"fails":         func(o *driven.Outcome) { o.To, o.After = domain.Scheduled, 100*time.Hour },
		"is cancelled":  func(o *driven.Outcome) { o.To = domain.Cancelled },
		"is done":       func(o *driven.Outcome) { o.To, o.Keep = domain.Done, time.Hour },
		"is given back": func(o *driven.Outcome) { o.To, o.Counts = domain.Ready, false },
	} {
		o := c.buried(c.running(priority(-9)))
		change(&o)
		c.settledAs(o)
		equal(c, "failure jobs where the job "+what, c.failures(), 0)
		c.wantNil("delete", c.delete(o.Ticket.ID)...)
	}
}

// once: an outcome that is sent again or was overtaken adds nothing; another death of
// the same job does.
func failureOnce(c *rig) {
	j := c.running()
	o := c.buried(j)
	for range 3 {
		equal(c, "answer", c.settledAs(o), driven.Settled{})
		equal(c, "failure jobs", c.failures(), 1)
	}
	c.wantNil("delete of the failure job", c.delete(o.Failure.ID)...)
	equal(c, "answer for the outcome sent again", c.settledAs(o), driven.Settled{})
	equal(c, "failure jobs once it is worked off", c.failures(), 0)

	c.wantNil("retry", c.retry(domain.Due{}, j.Job.ID)...)
	second := c.buried(c.claimOne())
	equal(c, "answer for the next death", c.settledAs(second), driven.Settled{})
	equal(c, "failure jobs of the next death", c.failures(), 1)
	c.isFailure(*second.Failure)

	stale := c.stalled(priority(-1))
	c.recover(parking())
	equal(c, "outcome of a claim that is over", c.settledAs(c.buried(stale)).Dropped, []domain.JobID{stale.Job.ID})
	taken := c.running(priority(-1))
	wrong := c.buried(taken)
	wrong.Ticket.Token = c.token()
	equal(c, "outcome under a foreign token", c.settledAs(wrong).Dropped, []domain.JobID{taken.Job.ID})
	equal(c, "failure jobs", c.failures(), 1)
	c.settled(done(taken))
}

// refused: a failure job that the store cannot keep keeps nobody from dying, and is
// named; what the store takes is there.
func failureRefused(c *rig) {
	for what, spoil := range map[string]func(*domain.NewJob){
		"a queue of 5,000 bytes":  func(n *domain.NewJob) { n.Queue = strings.Repeat("q", 5000) },
		"a kind of 5,000 bytes":   func(n *domain.NewJob) { n.Kind = strings.Repeat("k", 5000) },
		"a NUL in its tenant":     func(n *domain.NewJob) { n.Tenant = "a\x00b" },
		"a tenant of broken text": func(n *domain.NewJob) { n.Tenant = "a\xffb" },
	} {
		c.Logf("a failure job with %s", what)
		jobs := c.claimSet(5)
		outcomes := []driven.Outcome{done(jobs[0]), c.buried(jobs[1]), c.buried(jobs[2]), died(jobs[3]), c.buried(jobs[4])}
		spoil(outcomes[2].Failure)
		got := c.settledAs(outcomes...)
		equal(c, "dropped outcomes", len(got.Dropped), 0)
		for i, j := range jobs {
			c.inState(j.Job.ID, outcomes[i].To)
		}
		c.isFailure(*outcomes[1].Failure)
		c.isFailure(*outcomes[4].Failure)
		_, err := c.store.Job(c.Context(), outcomes[2].Failure.ID, "")
		switch {
		case err == nil: // the store has room for it
			equal(c, "jobs that died without their failure job", len(got.Refused), 0)
		default:
			c.wantCode("read of the failure job", err, domain.NotFound)
			equal(c, "jobs that died without their failure job", got.Refused, []domain.JobID{jobs[2].Job.ID})
		}
		equal(c, "dropped by a repeat", len(c.settledAs(outcomes...).Dropped), 0)
		c.wantNil("delete", c.delete(c.list(domain.Filter{})...)...)
	}
}

// many: as many deaths as one call has, each with its failure job.
func failureMany(c *rig) {
	n := size(500, 3000)
	jobs := c.claimSet(n)
	outcomes := make([]driven.Outcome, n)
	want, last := 0, 0
	for i, j := range jobs {
		if outcomes[i] = done(j); i%3 > 0 {
			outcomes[i] = c.buried(j)
			want, last = want+1, i
		}
	}
	equal(c, "answer", c.settledAs(outcomes...), driven.Settled{})
	equal(c, "failure jobs", c.failures(), want)
	equal(c, "dead jobs", c.count(domain.Filter{States: []domain.State{domain.Dead}}), want)
	c.isFailure(*outcomes[last].Failure)
}

// stalled: who dies by a stall has its failure job too, of its own kind or of the
// kind's, with the message, attempt and bound that its row tells.
func failureStalled(c *rig) {
	deadly := sweep()
	deadly.Stalls = domain.StallPolicy{Base: time.Millisecond, Cap: time.Millisecond, Max: 1}
	deadly.Failures, deadly.Attempts = map[string]string{kind: failureKind}, 7
	batch := c.batch()
	sets := [][]set{
		{failing("test/own"), ofTenant("acme"), withArgs(`{"n":  1}`)},
		{inBatch(batch), func(n *domain.NewJob) { n.MaxAttempts = 3 }},
		{ofKind(other)},
	}
	for _, s := range sets {
		c.one(s...)
	}
	r := c.request(len(sets))
	r.Kinds, r.Lease = []string{kind, other}, c.short()
	equal(c, "claimed jobs", len(c.ask(r).Jobs), 3)
	c.pass(r.Lease + time.Millisecond)
	for _, put := range c.recover(deadly).Jobs {
		equal(c, "fate and failure job of the first stall", fmt.Sprint(put.To, put.Failed.IsZero(), put.Refused), fmt.Sprint(domain.Scheduled, true, false))
	}
	c.pass(5 * time.Millisecond)
	r.Token = c.token()
	jobs := map[domain.JobID]driven.Claimed{}
	for _, j := range c.ask(r).Jobs {
		jobs[j.Job.ID] = j
	}
	c.pass(r.Lease + time.Millisecond)
	got := c.recover(deadly).Jobs
	equal(c, "recovered jobs", len(got), 3)
	for _, put := range got {
		j := jobs[put.ID]
		equal(c, "fate, batch and refusal", fmt.Sprint(put.To, put.Batch, put.Refused), fmt.Sprint(domain.Dead, j.Job.Batch, false))
		row := c.inState(put.ID, domain.Dead)
		k, most := failureKind, 7
		switch {
		case j.Job.Kind == other:
			equal(c, "failure job of a kind that has none", put.Failed, domain.JobID{})
			continue
		case j.Job.FailureKind != "":
			k = "test/own"
		default:
			most = 3
		}
		want := c.failureOf(j, k, row.Error, most)
		equal(c, "id of the failure job", put.Failed, want.ID)
		c.isFailure(want)
	}
	equal(c, "rows", c.count(domain.Filter{}), 5)
	equal(c, "members of the batch", c.count(domain.Filter{Batch: batch}), 1)
}

// last: a failure job that dies has none itself, whatever its kind is to have.
func failureLast(c *rig) {
	deadly := sweep()
	deadly.Stalls.Max, deadly.Attempts = 0, 5
	deadly.Failures = map[string]string{kind: failureKind, failureKind: "test/endless"}
	o := c.buried(c.running())
	c.settled(o)
	c.stalled()
	equal(c, "recovered jobs", len(c.recover(deadly).Jobs), 1)
	r := c.request(10)
	r.Kinds, r.Lease = []string{failureKind}, c.short()
	equal(c, "failure jobs to claim", len(c.ask(r).Jobs), 2)
	c.pass(r.Lease + time.Millisecond)
	got := c.recover(deadly).Jobs
	equal(c, "recovered jobs", len(got), 2)
	for _, put := range got {
		equal(c, "fate, failure job and refusal", fmt.Sprint(put.To, put.Failed.IsZero(), put.Refused), fmt.Sprint(domain.Dead, true, false))
	}
	equal(c, "rows", c.count(domain.Filter{}), 4)
}
