package conformance

import (
	"cmp"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// other is a second kind, group the usual group of kinds under one bound.
const (
	other = "test/other"
	group = "group"
)

func limitKey(key string) set { return func(n *domain.NewJob) { n.LimitKey = key } }
func mutex(keys ...string) set {
	return func(n *domain.NewJob) { n.Turn, n.Keys = domain.TurnMutex, keys }
}

func chain(keys ...string) set {
	return func(n *domain.NewJob) { n.Turn, n.Keys = domain.TurnChain, keys }
}
func blocking(n *domain.NewJob) { n.OnDead = domain.Block }

// mutexKey and chainKey are stored keys of jobs without a tenant.
func mutexKey(key string) string { return domain.TurnKey(domain.TurnMutex, "", key) }
func chainKey(key string) string { return domain.TurnKey(domain.TurnChain, "", key) }

// limited, rated and free are what a kind declares.
func limited(k string, n int) domain.Declaration {
	return domain.Declaration{Kind: k, Sort: domain.BoundLimit, Group: group, N: n}
}

func rated(k string, n int, window time.Duration) domain.Declaration {
	return domain.Declaration{Kind: k, Sort: domain.BoundRate, Group: group, N: n, Window: window}
}

// limit and rate are stored keys of the usual group.
func limit(own string) string { return limited(kind, 1).Key(own) }
func rate(own string) string  { return rated(kind, 1, long).Key(own) }

// declare declares all that the kinds named by the declarations have.
func (c *rig) declare(all ...domain.Declaration) {
	c.Helper()
	var kinds []string
	for _, d := range all {
		c.ok("check a declaration of the suite", d.Validate())
		kinds = append(kinds, d.Kind)
	}
	c.declareFor(kinds, all...)
}

func (c *rig) declareFor(kinds []string, all ...domain.Declaration) {
	c.Helper()
	c.ok("declare", c.store.Declare(c.Context(), kinds, all))
}

// wantsOf asks for all that claimed jobs may be bound by, as a runner does.
func wantsOf(jobs []driven.Claimed) []driven.Want {
	all := make([]driven.Want, len(jobs))
	for i, j := range jobs {
		all[i] = driven.Want{
			Ticket: j.Ticket(), Kind: j.Job.Kind, Limit: true, Rate: true, Turn: j.Job.Turn != domain.NoTurn, OwnLimit: j.Job.LimitKey, OwnRate: j.Job.LimitKey,
		}
	}
	return all
}

// started is a job that was claimed and admitted.
type started struct {
	driven.Claimed
	slots []domain.HeldSlot
}

// keys are those of the slots that the job holds.
func (s started) keys() (keys []string) {
	for _, h := range s.slots {
		keys = append(keys, h.Key)
	}
	return keys
}

// with is an outcome that gives back what the job holds, as a runner sends it.
func (s started) with(o driven.Outcome) driven.Outcome {
	for _, h := range s.slots {
		o.Slots = append(o.Slots, domain.SlotEnd{Slot: h.Slot, After: h.Window})
	}
	o.Turn = s.Job.Turn != domain.NoTurn
	return o
}

// admit asks for the bounds of claimed jobs and wakes nobody. Each must be
// answered once.
func (c *rig) admit(jobs ...driven.Claimed) ([]started, []driven.Parking) {
	c.Helper()
	got, _ := c.admitAll(jobs)
	return got.started, got.parked
}

// admission is an answer of Admit beside the claims that it is for.
type admission struct {
	started []started
	parked  []driven.Parking
	wake    []string
}

func (c *rig) admitAll(jobs []driven.Claimed) (answer admission, lost []domain.JobID) {
	c.Helper()
	got, err := c.store.Admit(c.Context(), driven.AdmitRequest{Wants: wantsOf(jobs)})
	c.ok("admit", err)
	answer = admission{parked: got.Parked, wake: got.Wake}
	seen := map[domain.JobID]int{}
	for _, p := range got.Parked {
		seen[p.ID]++
	}
	slots := map[domain.JobID][]domain.HeldSlot{}
	for _, a := range got.Admitted {
		seen[a.ID]++
		slots[a.ID] = a.Slots
		slices.SortFunc(slots[a.ID], func(a, b domain.HeldSlot) int { return cmp.Or(cmp.Compare(a.Key, b.Key), a.Index-b.Index) })
	}
	for _, j := range jobs {
		id := j.Job.ID
		if held, ok := slots[id]; ok {
			answer.started = append(answer.started, started{j, held})
		}
		switch seen[id] {
		case 0:
			lost = append(lost, id)
		case 1:
		default:
			c.Fatalf("the admission answers %d times for job %s", seen[id], id)
		}
		delete(seen, id)
	}
	equal(c, "jobs in the admission that nobody asked for", len(seen), 0)
	return answer, lost
}

// start claims up to n due jobs of the usual queue and of both kinds, asks for
// their bounds and wakes whom the parked ones touched: what a runner does. None
// of the claims may be lost.
func (c *rig) start(n int) []started {
	c.Helper()
	r := c.request(n)
	r.Kinds = []string{kind, other}
	return c.startBy(r)
}

func (c *rig) startBy(r driven.ClaimRequest) []started {
	c.Helper()
	got, lost := c.admitAll(c.ask(r).Jobs)
	equal(c, "claims that the admission calls lost", len(lost), 0)
	c.wake(got.wake...)
	return got.started
}

// startOnly starts the one job that may start among all that are due.
func (c *rig) startOnly(want domain.JobID) started {
	c.Helper()
	got := c.start(100)
	equalIDs(c, "started jobs", idsStarted(got), []domain.JobID{want})
	return got[0]
}

// startNone claims all that is due, of which nothing may start.
func (c *rig) startNone() {
	c.Helper()
	equalIDs(c, "started jobs", idsStarted(c.start(100)), nil)
}

func idsStarted(all []started) []domain.JobID {
	ids := make([]domain.JobID, len(all))
	for i := range all {
		ids[i] = all[i].Job.ID
	}
	return ids
}

// over settles a job as a runner does: what it held is given back in the same
// write, and then the keys are looked at. It gives what that woke.
func (c *rig) over(s started, outcome func(driven.Claimed) driven.Outcome) driven.Woken {
	c.Helper()
	c.settled(s.with(outcome(s.Claimed)))
	return c.wake(s.keys()...)
}

// in makes an outcome of one that waits.
func in(d time.Duration, outcome func(driven.Claimed, time.Duration) driven.Outcome) func(driven.Claimed) driven.Outcome {
	return func(j driven.Claimed) driven.Outcome { return outcome(j, d) }
}

func (c *rig) wake(keys ...string) driven.Woken {
	c.Helper()
	got, err := c.store.Wake(c.Context(), keys)
	c.ok("wake", err)
	if (got.Jobs == 0) != (len(got.Queues) == 0) {
		c.Fatalf("a wake of %d jobs names the queues %q", got.Jobs, got.Queues)
	}
	return got
}

// woken checks how many jobs a wake of the keys makes ready.
func (c *rig) woken(want int, keys ...string) {
	c.Helper()
	equal(c, "woken jobs", c.wake(keys...).Jobs, want)
}

// parkedOn checks that a job is blocked on a key.
func (c *rig) parkedOn(key string, ids ...domain.JobID) {
	c.Helper()
	for _, id := range ids {
		equal(c, "what job "+id.String()+" waits for", c.inState(id, domain.Blocked).BlockedOn, key)
	}
}

// readyAll checks that jobs wait for nothing but a claim.
func (c *rig) readyAll(ids ...domain.JobID) {
	c.Helper()
	for _, id := range ids {
		equal(c, "what a ready job waits for", c.inState(id, domain.Ready).BlockedOn, "")
	}
}

// holders lists taken slots.
func (c *rig) holders() []domain.Holder {
	c.Helper()
	got, err := c.store.Held(c.Context(), domain.Slot{}, 10_000)
	c.ok("list held slots", err)
	return got
}

// taken checks which keys have taken slots, a key for each.
func (c *rig) taken(want ...string) {
	c.Helper()
	var keys []string
	for _, h := range c.holders() {
		keys = append(keys, h.Key)
	}
	equal(c, "keys of the taken slots", len(keys), len(want))
	for i := range keys {
		equal(c, "key of a taken slot", keys[i], want[i])
	}
}

func (c *rig) expire(limit int) driven.Expired {
	c.Helper()
	got, err := c.store.Expire(c.Context(), limit)
	c.ok("expire", err)
	if got.Next < 0 || got.Next > driven.NoNext {
		c.Fatalf("the next slot expires in %v", got.Next)
	}
	return got
}

func (c *rig) reapPage(r driven.ReapRequest) driven.Reaped {
	c.Helper()
	got, err := c.store.Reap(c.Context(), r)
	c.ok("reap", err)
	return got
}

// reap looks at all slots by pages and gives how many were orphans.
func (c *rig) reap(linger time.Duration) (orphans int) {
	c.Helper()
	r := driven.ReapRequest{Limit: 3, Linger: linger}
	for range 10_000 {
		got := c.reapPage(r)
		orphans += got.Orphans
		if !got.More {
			return orphans
		}
		r.After = got.Last
	}
	c.Fatal("a reaper's pages never end")
	return 0
}

func (c *rig) hold(all ...driven.Holding) {
	c.Helper()
	c.ok("hold", c.store.Hold(c.Context(), all))
}

// blockedKeys lists the keys that jobs wait for, by pages of two.
func (c *rig) blockedKeys() (keys []string) {
	c.Helper()
	for after := ""; ; after = keys[len(keys)-1] {
		got, err := c.store.BlockedKeys(c.Context(), after, 2)
		c.ok("list blocked keys", err)
		if keys = append(keys, got...); len(got) < 2 {
			equal(c, "keys of a page", len(got) <= 2, true)
			return keys
		}
	}
}

func (c *rig) chains() []domain.Chain {
	c.Helper()
	got, err := c.store.Chains(c.Context(), "", 100)
	c.ok("list chains", err)
	return got
}

// touched runs an edit that must succeed and gives the keys that it names, in
// byte order.
func (c *rig) touched(what string, answers []domain.Edited, err error, id domain.JobID) []string {
	c.Helper()
	c.wantNil(what, c.edit(what, answers, err, id)...)
	return slices.Compact(slices.Sorted(slices.Values(answers[0].Keys)))
}
