package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// The words that most cases use. A lease of `long` never runs out during a case.
const (
	queue    = "default"
	kind     = "test/job"
	runnerID = "runner-1"
	long     = time.Hour
	// patience bounds every wait on a condition; no case needs a part of it.
	patience = 30 * time.Second
)

// C is one case at work: the test, a fresh store, and the words to speak with
// it. A word that meets an unexpected error ends the case.
type C struct {
	testing.TB
	Harness
	store driven.Store
	made  *atomic.Uint64 // ids and tokens made so far
}

func newCase(t testing.TB, h Harness) *C {
	return &C{TB: t, Harness: h, store: h.Backend.Store, made: new(atomic.Uint64)}
}

// id makes a UUIDv7 whose order is the order of making.
func (c *C) id() domain.JobID {
	var id domain.JobID
	n := c.made.Add(1)
	binary.BigEndian.PutUint64(id[:8], (1_700_000_000_000+n)<<16|0x7000)
	binary.BigEndian.PutUint64(id[8:], 1<<63|n)
	return id
}

// token makes a fresh token.
func (c *C) token() domain.Token { return domain.Token(c.id()) }

// --- jobs ---

// set changes one field of a job that is about to be inserted.
type set func(*domain.NewJob)

func ofKind(k string) set          { return func(n *domain.NewJob) { n.Kind = k } }
func inQueue(q string) set         { return func(n *domain.NewJob) { n.Queue = q } }
func ofTenant(t string) set        { return func(n *domain.NewJob) { n.Tenant = t } }
func priority(p int) set           { return func(n *domain.NewJob) { n.Priority = p } }
func after(d time.Duration) set    { return func(n *domain.NewJob) { n.Due.After = d } }
func at(t time.Time) set           { return func(n *domain.NewJob) { n.Due.At = t } }
func withArgs(a string) set        { return func(n *domain.NewJob) { n.Args = []byte(a) } }
func withMeta(m string) set        { return func(n *domain.NewJob) { n.Meta = []byte(m) } }
func withTags(tags ...string) set  { return func(n *domain.NewJob) { n.Tags = tags } }
func keep(r domain.Retention) set  { return func(n *domain.NewJob) { n.Keep = r } }
func withID(id domain.JobID) set   { return func(n *domain.NewJob) { n.ID = id } }
func unique(key string) set        { return uniqueOr(key, domain.Skip) }
func uniqueOrError(key string) set { return uniqueOr(key, domain.Error) }
func uniqueOr(k string, or domain.OnConflict) set {
	return func(n *domain.NewJob) { n.Unique = &domain.Unique{Key: k, OnConflict: or} }
}

// job builds a valid job that is due now.
func (c *C) job(sets ...set) domain.NewJob {
	c.Helper()
	n := domain.NewJob{ID: c.id(), Kind: kind, Queue: queue, Args: []byte(`{}`)}
	for _, s := range sets {
		s(&n)
	}
	if err := n.Validate(); err != nil {
		c.Fatalf("the suite built a job that no door lets in: %v", err)
	}
	return n
}

// jobs builds n jobs that are alike.
func (c *C) jobs(n int, sets ...set) []domain.NewJob {
	c.Helper()
	all := make([]domain.NewJob, n)
	for i := range all {
		all[i] = c.job(sets...)
	}
	return all
}

// insert writes the jobs in one call, whatever the answers are.
func (c *C) insert(jobs ...domain.NewJob) []driven.Inserted {
	c.Helper()
	got, err := c.store.Insert(c.Context(), jobs)
	c.ok("insert", err)
	if len(got) != len(jobs) {
		c.Fatalf("insert of %d jobs gave %d answers", len(jobs), len(got))
	}
	return got
}

// add writes jobs that must all be new, and gives their ids.
func (c *C) add(jobs ...domain.NewJob) []domain.JobID {
	c.Helper()
	ids := make([]domain.JobID, len(jobs))
	for i, a := range c.insert(jobs...) {
		equal(c, fmt.Sprintf("answer %d of the insert", i), a, driven.Inserted{ID: jobs[i].ID})
		ids[i] = a.ID
	}
	return ids
}

// one writes one new job.
func (c *C) one(sets ...set) domain.JobID {
	c.Helper()
	return c.add(c.job(sets...))[0]
}

// --- claims ---

// request asks for up to n jobs of the usual queue and kind under a fresh token.
func (c *C) request(n int) driven.ClaimRequest {
	return driven.ClaimRequest{Token: c.token(), Runner: runnerID, Lease: long, Queue: queue, Kinds: []string{kind}, N: n}
}

// ask claims and checks what holds for every claim.
func (c *C) ask(r driven.ClaimRequest) driven.Claims {
	c.Helper()
	got, err := c.store.Claim(c.Context(), r)
	c.ok("claim", err)
	if len(got.Jobs) > r.N {
		c.Fatalf("a claim of at most %d gave %d jobs", r.N, len(got.Jobs))
	}
	for _, j := range got.Jobs {
		equal(c, "token of the claimed job", j.Token, r.Token)
		equal(c, "state of the claimed job", j.Job.State, domain.Running)
	}
	return got
}

// claim takes up to n due jobs of the usual queue and kind.
func (c *C) claim(n int) []driven.Claimed {
	c.Helper()
	return c.ask(c.request(n)).Jobs
}

// claimOne takes the one due job there must be.
func (c *C) claimOne() driven.Claimed {
	c.Helper()
	got := c.claim(1)
	if len(got) != 1 {
		c.Fatalf("no job was claimed, one was due")
	}
	return got[0]
}

// claimAll claims until nothing more is due.
func (c *C) claimAll(r driven.ClaimRequest) []driven.Claimed {
	c.Helper()
	var all []driven.Claimed
	taken := newTaken()
	for idle := 0; idle < 1000; idle++ {
		r.Token = c.token()
		got := c.ask(r)
		c.ok("claim", taken.add(got.Jobs))
		if all = append(all, got.Jobs...); len(got.Jobs) > 0 {
			idle = 0
		} else if !got.More {
			return all
		}
	}
	c.Fatal("a claim says More for ever and gives nothing")
	return nil
}

// taken collects what claimers got and finds a job that was given twice.
type taken struct {
	mu  sync.Mutex
	ids map[domain.JobID]bool
}

func newTaken() *taken { return &taken{ids: map[domain.JobID]bool{}} }

func (t *taken) add(jobs []driven.Claimed) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range jobs {
		if t.ids[j.Job.ID] {
			return fmt.Errorf("job %s was claimed twice", j.Job.ID)
		}
		t.ids[j.Job.ID] = true
	}
	return nil
}

func (t *taken) all() []domain.JobID { return sorted(slices.Collect(maps.Keys(t.ids))) }

// running inserts one job and claims it.
func (c *C) running(sets ...set) driven.Claimed {
	c.Helper()
	n := c.job(sets...)
	c.add(n)
	r := c.request(1)
	r.Queue, r.Kinds = n.Queue, []string{n.Kind}
	got := c.ask(r).Jobs
	if len(got) != 1 || got[0].Job.ID != n.ID {
		c.Fatalf("the job just inserted was not claimed: %v", idsOf(got))
	}
	return got[0]
}

// stalled inserts one job, claims it under a short lease and lets that run out.
func (c *C) stalled(sets ...set) driven.Claimed {
	c.Helper()
	n := c.job(sets...)
	c.add(n)
	return c.claimLapsed(1)[0]
}

// claimLapsed takes exactly n due jobs under a short lease and lets that run out.
func (c *C) claimLapsed(n int) []driven.Claimed {
	c.Helper()
	r := c.request(n)
	r.Lease = c.short()
	got := c.ask(r).Jobs
	if len(got) != n {
		c.Fatalf("%d jobs were claimed, %d were due", len(got), n)
	}
	c.pass(r.Lease + time.Millisecond)
	return got
}

func idsOf(jobs []driven.Claimed) []domain.JobID {
	ids := make([]domain.JobID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].Job.ID
	}
	return ids
}

func renewals(jobs ...driven.Claimed) []driven.Renewal {
	all := make([]driven.Renewal, len(jobs))
	for i := range jobs {
		all[i].Ticket = jobs[i].Ticket()
	}
	return all
}

// --- outcomes ---

// done, failed, died, gaveUp, snoozed and released are the outcomes that a
// runner records, as domain.Judge makes them.
func done(j driven.Claimed) driven.Outcome {
	return driven.Outcome{Ticket: j.Ticket(), To: domain.Done, Counts: true, Ran: 7 * time.Millisecond, Keep: long, History: j.Job.History}
}

func failed(j driven.Claimed, wait time.Duration) driven.Outcome {
	return driven.Outcome{
		Ticket: j.Ticket(), To: domain.Scheduled, After: wait, Counts: true, Ran: 3 * time.Millisecond,
		Error: "it failed", History: j.Job.History.Add(domain.Note{Attempt: j.Job.Attempts + 1, Message: "it failed", Runner: runnerID}),
	}
}

func died(j driven.Claimed) driven.Outcome {
	o := failed(j, 0)
	o.To, o.Keep = domain.Dead, domain.KeepForever
	return o
}

func gaveUp(j driven.Claimed) driven.Outcome {
	o := failed(j, 0)
	o.To, o.Counts, o.Keep = domain.Cancelled, false, long
	return o
}

func snoozed(j driven.Claimed, wait time.Duration) driven.Outcome {
	return driven.Outcome{Ticket: j.Ticket(), To: domain.Scheduled, After: wait, Snoozed: true, Error: j.Job.Error, History: j.Job.History}
}

func released(j driven.Claimed) driven.Outcome {
	return driven.Outcome{Ticket: j.Ticket(), To: domain.Ready, Error: j.Job.Error, History: j.Job.History}
}

// settle records outcomes and gives those that were dropped.
func (c *C) settle(outcomes ...driven.Outcome) []domain.JobID {
	c.Helper()
	got, err := c.store.Settle(c.Context(), outcomes)
	c.ok("settle", err)
	return got.Dropped
}

// settled records outcomes of which none may be dropped.
func (c *C) settled(outcomes ...driven.Outcome) {
	c.Helper()
	equal(c, "dropped outcomes", len(c.settle(outcomes...)), 0)
}

// ended inserts one job and brings it into a terminal state.
func (c *C) ended(outcome func(driven.Claimed) driven.Outcome, sets ...set) domain.JobID {
	c.Helper()
	j := c.running(sets...)
	c.settled(outcome(j))
	return j.Job.ID
}

// renew renews the claims and gives those that are lost.
func (c *C) renew(lease time.Duration, jobs ...driven.Claimed) []domain.JobID {
	c.Helper()
	got, err := c.store.Renew(c.Context(), driven.RenewRequest{Tickets: renewals(jobs...), Lease: lease})
	c.ok("renew", err)
	return got.Lost
}

// sweep is a recover request as upkeep makes it.
func sweep() driven.RecoverRequest {
	return driven.RecoverRequest{Limit: 100, Stalls: domain.DefaultStalls(), KeepDead: domain.KeepForever, Except: "runner-of-the-sweeper"}
}

// recover sweeps once.
func (c *C) recover(r driven.RecoverRequest) driven.Recovered {
	c.Helper()
	got, err := c.store.Recover(c.Context(), r)
	c.ok("recover", err)
	if len(got.Jobs) > r.Limit {
		c.Fatalf("a sweep of at most %d put back %d claims", r.Limit, len(got.Jobs))
	}
	return got
}

// --- looking ---

// get reads one whole row.
func (c *C) get(id domain.JobID) domain.Job {
	c.Helper()
	j, err := c.store.Job(c.Context(), id, "")
	c.ok("read a job", err)
	return j
}

// inState checks the state of one row and gives the row.
func (c *C) inState(id domain.JobID, want domain.State) domain.Job {
	c.Helper()
	j := c.get(id)
	equal(c, "state of job "+id.String(), j.State, want)
	return j
}

// count counts what a filter chooses, exactly.
func (c *C) count(f domain.Filter) int {
	c.Helper()
	n, exact, err := c.store.Count(c.Context(), f, 1_000_000)
	c.ok("count", err)
	equal(c, "exactness of the count", exact, true)
	return n
}

// list gives the ids that a filter chooses, newest first, and checks that Jobs and Match agree.
func (c *C) list(f domain.Filter) []domain.JobID {
	c.Helper()
	page := domain.Page{Size: domain.MaxPage}
	jobs, err := c.store.Jobs(c.Context(), f, page)
	c.ok("list jobs", err)
	ids := make([]domain.JobID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	matched, err := c.store.Match(c.Context(), f, page)
	c.ok("match jobs", err)
	equalIDs(c, "ids of Match beside those of Jobs", matched, ids)
	return ids
}

// all gives every row, newest first.
func (c *C) all() []domain.Job {
	c.Helper()
	jobs, err := c.store.Jobs(c.Context(), domain.Filter{}, domain.Page{Size: domain.MaxPage})
	c.ok("list jobs", err)
	return jobs
}

// stats gives the statistics, counted exactly.
func (c *C) stats(tenant string) domain.Stats {
	c.Helper()
	s, err := c.store.Stats(c.Context(), tenant, 1_000_000)
	c.ok("stats", err)
	equal(c, "exactness of the stats", s.Exact, true)
	return s
}

// edits is what an operator asks for.
func edits(ids ...domain.JobID) driven.EditRequest {
	return driven.EditRequest{IDs: ids, Keep: long}
}

// edit runs one of the editor's methods and checks that it answers each id in order.
func (c *C) edit(what string, answers []domain.Edited, err error, ids ...domain.JobID) []error {
	c.Helper()
	c.ok(what, err)
	errs := make([]error, len(answers))
	got := make([]domain.JobID, len(answers))
	for i, a := range answers {
		got[i], errs[i] = a.ID, a.Err
	}
	equalIDs(c, "ids that "+what+" answers for", got, ids)
	return errs
}

func (c *C) retry(due domain.Due, ids ...domain.JobID) []error {
	c.Helper()
	r := edits(ids...)
	r.Due = due
	got, err := c.store.Retry(c.Context(), r)
	return c.edit("retry", got, err, ids...)
}

func (c *C) cancel(ids ...domain.JobID) []error {
	c.Helper()
	got, err := c.store.Cancel(c.Context(), edits(ids...))
	return c.edit("cancel", got, err, ids...)
}

func (c *C) delete(ids ...domain.JobID) []error {
	c.Helper()
	got, err := c.store.Delete(c.Context(), edits(ids...))
	return c.edit("delete", got, err, ids...)
}

func (c *C) reschedule(due domain.Due, ids ...domain.JobID) []error {
	c.Helper()
	r := edits(ids...)
	r.Due = due
	got, err := c.store.Reschedule(c.Context(), r)
	return c.edit("reschedule", got, err, ids...)
}

func (c *C) prune(limit int, tenant string) int {
	c.Helper()
	n, err := c.store.Prune(c.Context(), driven.PruneRequest{Limit: limit, Tenant: tenant})
	c.ok("prune", err)
	if n > limit {
		c.Fatalf("a prune of at most %d removed %d", limit, n)
	}
	return n
}

// --- time ---

// short is a span that a case can let pass: a minute of a test clock, else a
// fraction of a real second.
func (c *C) short() time.Duration {
	if c.Advance != nil {
		return time.Minute
	}
	return 150 * time.Millisecond
}

// pass lets the span go by on the store's clock.
func (c *C) pass(d time.Duration) {
	c.Helper()
	if c.Advance != nil {
		c.Advance(d)
		return
	}
	const slack = 20 * time.Millisecond // the store's clock need not run exactly as ours
	wait(d + slack)
}

// wait is for what only real time can do: it is never the wait for a condition.
func wait(d time.Duration) { <-time.After(d) }

// now is the store's own time, as a row that it writes shows it.
func (c *C) now() time.Time {
	c.Helper()
	id := c.one(inQueue("clock"))
	made := c.get(id).CreatedAt
	c.wantNil("delete of the clock's row", c.delete(id)...)
	return made
}

// --- checks ---

func (c *C) ok(what string, err error) {
	c.Helper()
	if err != nil {
		c.Fatalf("%s: %v (cause: %v)", what, err, errors.Unwrap(err))
	}
}

// wantNil checks the answers for single ids.
func (c *C) wantNil(what string, errs ...error) {
	c.Helper()
	for i, err := range errs {
		if err != nil {
			c.Fatalf("%s, answer %d: %v", what, i, err)
		}
	}
}

// wantCode checks that the error is a fault of the one type with that code.
func (c *C) wantCode(what string, err error, want domain.Code) {
	c.Helper()
	var f *domain.Fault
	switch {
	case err == nil:
		c.Fatalf("%s gave no error, want %s", what, want)
	case !errors.As(err, &f):
		c.Fatalf("%s gave an error that is no *domain.Fault: %T %v", what, err, err)
	case f.Code != want:
		c.Fatalf("%s gave %v, want the code %s", what, err, want)
	case f.Op == "":
		c.Fatalf("%s gave a fault that does not say what was tried: %v", what, err)
	}
}

// newRand makes a source whose numbers are the same in every run.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// equal checks one value.
func equal[T any](c *C, what string, got, want T) {
	c.Helper()
	if !reflect.DeepEqual(got, want) {
		c.Fatalf("%s:\n got %s\nwant %s", what, clip(got), clip(want))
	}
}

// equalIDs checks a list of ids; none is none, nil or not.
func equalIDs(c *C, what string, got, want []domain.JobID) {
	c.Helper()
	if !slices.Equal(got, want) {
		equal(c, what, got, want)
	}
}

// clip keeps a failure readable whatever the size of the value.
func clip(v any) string {
	text := fmt.Sprintf("%+v", v)
	if b, ok := v.([]byte); ok {
		text = fmt.Sprintf("%q", b)
	}
	return domain.CleanText(text, 2000)
}

// race runs act n times at once, from one barrier. A store may answer that it
// was contended (nothing was written, nothing is retried below this port); then
// the act is run again, as retrystore does.
func (c *C) race(n int, act func(i int) error) {
	c.Helper()
	var ready, finished sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, n)
	for i := range n {
		ready.Add(1)
		finished.Go(func() {
			ready.Done()
			<-start
			errs[i] = uncontended(func() error { return act(i) })
		})
	}
	ready.Wait()
	close(start)
	finished.Wait()
	for i, err := range errs {
		c.ok(fmt.Sprintf("racer %d of %d", i, n), err)
	}
}

// uncontended repeats an act that lost against others, boundedly.
func uncontended(act func() error) error {
	for try := 0; ; try++ {
		err := act()
		if domain.CodeOf(err) != domain.Contended || try == 100 {
			return err
		}
		wait(time.Duration(try+1) * time.Millisecond)
	}
}
