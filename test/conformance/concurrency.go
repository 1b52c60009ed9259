package conformance

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func concurrencyCases() []testCase {
	return []testCase{
		{"claim", concurrencyClaim},
		{"work", concurrencyWork},
		{"promote", concurrencyPromote},
		{"unique", concurrencyUnique},
		{"id", concurrencyID},
		{"vanish", concurrencyVanish},
		{"replace", concurrencyReplace},
		{"crossed", concurrencyCrossed},
		{"settle", concurrencySettle},
		{"recover", concurrencyRecover},
		{"renew", concurrencyRenew},
		{"sweepers", concurrencySweepers},
		{"cancel", concurrencyCancel},
		{"retry", concurrencyRetry},
		{"prune", concurrencyPrune},
		{"everything", concurrencyEverything},
	}
}

// handles gives n stores: as many handles as the harness can open, so that
// racers meet in the database and not in one process's own lock.
func (c *rig) handles(n int) []driven.Store {
	c.Helper()
	stores := make([]driven.Store, n)
	opened := []driven.Store{c.store}
	if c.Again != nil {
		opened = append(opened, c.Again(c).Store, c.Again(c).Store)
	}
	for i := range stores {
		stores[i] = opened[i%len(opened)]
	}
	return stores
}

// claim: any number of claimers at once share the due jobs without one twice.
func concurrencyClaim(c *rig) {
	const claimers, due = 50, 100
	stores := c.handles(claimers)
	for round := range size(4, 20) {
		want := c.add(c.jobs(due)...)
		got := newTaken()
		c.race(claimers, func(i int) error { return c.claimUntilDry(stores[i], c.request(1+i%4), got.add) })
		equal(c, fmt.Sprintf("jobs claimed in round %d", round), got.all(), sorted(want))
	}
}

// claimUntilDry claims under new tokens until two claims in a row give nothing.
func (c *rig) claimUntilDry(store driven.Store, r driven.ClaimRequest, take func([]driven.Claimed) error) error {
	for idle := 0; idle < 2; idle++ {
		r.Token = c.token()
		claims, err := store.Claim(c.Context(), r)
		if err == nil && len(claims.Jobs) > 0 {
			idle, err = -1, take(claims.Jobs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// work: claimers that settle what they took, a few jobs at a time, are shown no error
// of contention and work off each job once.
func concurrencyWork(c *rig) {
	const claimers = 15
	stores, want, got := c.handles(claimers), c.add(c.jobs(size(500, 5000))...), newTaken()
	c.race(claimers, func(i int) error {
		return c.claimUntilDry(stores[i], c.request(1+i%8), func(jobs []driven.Claimed) error {
			outcomes := make([]driven.Outcome, len(jobs))
			for k := range jobs {
				outcomes[k] = done(jobs[k])
			}
			answer, err := stores[i].Settle(c.Context(), outcomes)
			if err == nil && len(answer.Dropped) > 0 {
				err = fmt.Errorf("outcomes of claims of its own were dropped: %v", answer.Dropped)
			}
			return errors.Join(err, got.add(jobs))
		})
	})
	equal(c, "jobs worked off", got.all(), sorted(want))
	equal(c, "jobs that are done", c.count(domain.Filter{States: []domain.State{domain.Done}}), len(want))
}

// promote: claimers that make scheduled jobs ready at once lose and double none.
func concurrencyPromote(c *rig) {
	want := c.add(c.jobs(200, after(c.short()))...)
	c.pass(c.short() + time.Millisecond)
	stores := c.handles(16)
	got := newTaken()
	c.race(len(stores), func(i int) error {
		for {
			claims, err := stores[i].Claim(c.Context(), c.request(7))
			if err == nil {
				err = got.add(claims.Jobs)
			}
			if err != nil || (len(claims.Jobs) == 0 && !claims.More) {
				return err
			}
		}
	})
	c.ok("claim what is left", got.add(c.claimAll(c.request(7))))
	equal(c, "claimed jobs", got.all(), sorted(want))
}

// unique: many inserts of one key give one row; all others are answered with its id.
func concurrencyUnique(c *rig) {
	const callers = 100
	stores := c.handles(callers)
	for round := range size(3, 20) {
		key := fmt.Sprintf("key-%d", round)
		answers := make([]driven.Inserted, callers)
		c.race(callers, func(i int) error {
			got, err := stores[i].Insert(c.Context(), []domain.NewJob{c.job(unique(key), after(long))})
			if err == nil {
				answers[i] = got[0]
			}
			return err
		})
		c.oneHolder(answers)
	}
	equal(c, "rows", c.count(domain.Filter{}), size(3, 20))
}

// oneHolder checks that one answer is new and that all name its row.
func (c *rig) oneHolder(answers []driven.Inserted) {
	c.Helper()
	fresh := 0
	for _, a := range answers {
		equal(c, "id of the answer", a.ID, answers[0].ID)
		if a.Result == domain.InsertedNew {
			fresh++
		}
	}
	equal(c, "new rows", fresh, 1)
	c.inState(answers[0].ID, domain.Scheduled)
}

// vanish: callers of a key whose holder ends meanwhile find the old holder or
// one new one; none of them fails, and no two rows hold the key.
func concurrencyVanish(c *rig) {
	stores := c.handles(9)
	for round := range size(10, 60) {
		key := fmt.Sprint("key-", round)
		holder := c.running(unique(key), inQueue("holders"))
		answers := make([]driven.Inserted, len(stores)-1)
		c.race(len(stores), func(i int) error {
			if i == len(answers) {
				return c.endNow(stores[i], holder)
			}
			got, err := stores[i].Insert(c.Context(), []domain.NewJob{c.job(unique(key), after(long))})
			if err == nil {
				answers[i] = got[0]
			}
			return err
		})
		fresh := slices.DeleteFunc(answers, func(a driven.Inserted) bool {
			return a.ID == holder.Job.ID && a.Result == domain.Existing
		})
		if len(fresh) > 0 {
			c.oneHolder(fresh)
		}
	}
}

// id: the same call from many callers at once writes its rows once.
func concurrencyID(c *rig) {
	jobs := c.jobs(20, after(long))
	var fresh atomic.Int64
	stores := c.handles(16)
	c.race(len(stores), func(i int) error {
		got, err := stores[i].Insert(c.Context(), jobs)
		for _, a := range got {
			if a.Result == domain.InsertedNew {
				fresh.Add(1)
			}
		}
		return err
	})
	equal(c, "new rows", int(fresh.Load()), len(jobs))
	equal(c, "rows", c.count(domain.Filter{}), len(jobs))
}

// crossed: calls that want the same keys in opposite orders all end, with one row a key.
func concurrencyCrossed(c *rig) {
	stores := c.handles(12)
	for round := range size(5, 30) {
		c.race(len(stores), func(i int) error {
			var jobs []domain.NewJob
			for k := range 20 {
				jobs = append(jobs, c.job(unique(fmt.Sprintf("%d-%d", round, k)), after(long)))
			}
			if i%2 == 1 {
				slices.Reverse(jobs)
			}
			_, err := stores[i].Insert(c.Context(), jobs)
			return err
		})
		equal(c, "rows", c.count(domain.Filter{}), 20*(round+1))
	}
}

// settle: an outcome sent many times at once is written once.
func concurrencySettle(c *rig) {
	stores := c.handles(8)
	for range size(5, 30) {
		jobs := c.claimSet(10)
		var dropped atomic.Int64
		c.race(len(stores), func(i int) error {
			outcomes := make([]driven.Outcome, len(jobs))
			for k := range jobs {
				outcomes[k] = failed(jobs[(k+i)%len(jobs)], long)
			}
			got, err := stores[i].Settle(c.Context(), outcomes)
			dropped.Add(int64(len(got.Dropped)))
			return err
		})
		equal(c, "dropped outcomes", dropped.Load(), 0)
		for _, j := range jobs {
			equal(c, "attempts", c.inState(j.Job.ID, domain.Scheduled).Attempts, 1)
		}
	}
}

// parking is a sweep after which the stalled jobs stay away for the rest of the case.
func parking() driven.RecoverRequest {
	r := sweep()
	r.Stalls.Base, r.Stalls.Cap = 100*long, 100*long
	return r
}

// recover: of the runner's late outcome and the sweep that takes its job one
// wins; the other is told, and the row shows the winner's write alone.
func concurrencyRecover(c *rig) {
	stores := c.handles(4)
	for range size(6, 30) {
		c.add(c.jobs(20)...)
		jobs := c.claimLapsed(20)
		var mu sync.Mutex
		dropped, swept := map[domain.JobID]bool{}, map[domain.JobID]bool{}
		c.race(4, func(i int) error {
			if i%2 == 1 {
				got, err := stores[i].Recover(c.Context(), parking())
				mu.Lock()
				defer mu.Unlock()
				for _, r := range got.Jobs {
					if swept[r.ID] {
						return fmt.Errorf("job %s was recovered twice", r.ID)
					}
					swept[r.ID] = true
				}
				return err
			}
			for k := range jobs {
				got, err := stores[i].Settle(c.Context(), []driven.Outcome{done(jobs[(k+i*5)%len(jobs)])})
				if err != nil {
					return err
				}
				mu.Lock()
				for _, id := range got.Dropped {
					dropped[id] = true
				}
				mu.Unlock()
			}
			return nil
		})
		for _, j := range jobs {
			row := c.get(j.Job.ID)
			want := map[domain.State]bool{domain.Done: false, domain.Scheduled: true}
			lost, legal := want[row.State]
			if !legal || dropped[row.ID] != lost || swept[row.ID] != lost || row.Attempts+row.Stalls != 1 {
				c.Fatalf("job %s is %s with %d attempts and %d stalls; its outcome was dropped: %v, a sweep took it: %v",
					row.ID, row.State, row.Attempts, row.Stalls, dropped[row.ID], swept[row.ID])
			}
		}
	}
}

// renew: of a late renewal and the sweep that takes the job one wins: a claim
// that was renewed stays, and one that was swept is told that it is lost.
func concurrencyRenew(c *rig) {
	stores := c.handles(4)
	for range size(6, 30) {
		c.add(c.jobs(20)...)
		jobs := c.claimLapsed(20)
		var mu sync.Mutex
		lost, swept := map[domain.JobID]bool{}, map[domain.JobID]bool{}
		c.race(4, func(i int) error {
			if i%2 == 1 {
				got, err := stores[i].Recover(c.Context(), parking())
				mu.Lock()
				defer mu.Unlock()
				for _, r := range got.Jobs {
					swept[r.ID] = true
				}
				return err
			}
			for k := range jobs {
				j := jobs[(k+i*5)%len(jobs)]
				got, err := stores[i].Renew(c.Context(), driven.RenewRequest{Tickets: renewals(j), Lease: 100 * long})
				if err != nil {
					return err
				}
				mu.Lock()
				lost[j.Job.ID] = lost[j.Job.ID] || len(got.Lost) > 0
				mu.Unlock()
			}
			return nil
		})
		for _, j := range jobs {
			row := c.get(j.Job.ID)
			if swept[row.ID] != (row.State == domain.Scheduled) || lost[row.ID] != swept[row.ID] {
				c.Fatalf("job %s is %s; a renewal was told that it is lost: %v, a sweep took it: %v", row.ID, row.State, lost[row.ID], swept[row.ID])
			}
		}
	}
}

// sweepers: many sweeps at once put back each claim once.
func concurrencySweepers(c *rig) {
	stores := c.handles(8)
	for range size(3, 20) {
		c.add(c.jobs(60)...)
		jobs := c.claimLapsed(60)
		var mu sync.Mutex
		var got []domain.JobID
		c.race(len(stores), func(i int) error {
			r := parking()
			r.Limit = 15
			for more := true; more; {
				swept, err := stores[i].Recover(c.Context(), r)
				if err != nil {
					return err
				}
				more = swept.More
				mu.Lock()
				for _, j := range swept.Jobs {
					got = append(got, j.ID)
				}
				mu.Unlock()
			}
			return nil
		})
		for _, j := range c.recover(parking()).Jobs {
			got = append(got, j.ID)
		}
		equal(c, "recovered jobs", sorted(got), sorted(idsOf(jobs)))
		for _, j := range jobs {
			equal(c, "stalls", c.get(j.Job.ID).Stalls, 1)
		}
	}
}

// cancel: the answer to a cancel equals the final row, however it races a claim and its outcome;
// of the two one alone is taken.
func concurrencyCancel(c *rig) {
	stores := c.handles(4)
	for range size(6, 40) {
		ids := c.add(c.jobs(20)...)
		var mu sync.Mutex
		ended, cancelled := map[domain.JobID]bool{}, map[domain.JobID]bool{}
		c.race(4, func(i int) error {
			for k := range ids {
				runtime.Gosched() // let the others in
				if i%2 == 0 {
					got, err := stores[i].Claim(c.Context(), c.request(1))
					if err != nil {
						return err
					}
					for _, j := range got.Jobs {
						taken, err := c.tryEnd(stores[i], j)
						if err != nil {
							return err
						}
						mu.Lock()
						ended[j.Job.ID] = taken
						mu.Unlock()
					}
					continue
				}
				id := ids[(k+5*i)%len(ids)]
				got, err := stores[i].Cancel(c.Context(), edits(id))
				if err != nil {
					return err
				}
				mu.Lock()
				cancelled[id] = cancelled[id] || got[0].Err == nil
				mu.Unlock()
			}
			return nil
		})
		for _, id := range ids {
			row := c.get(id)
			if cancelled[id] != (row.State == domain.Cancelled) || ended[id] != (row.State == domain.Done) || cancelled[id] == ended[id] {
				c.Fatalf("job %s is %s; a cancel was granted: %v, an outcome was taken: %v", id, row.State, cancelled[id], ended[id])
			}
		}
	}
}

// endNow settles a live claim, whose outcome must be taken.
func (c *rig) endNow(s driven.Store, j driven.Claimed) error {
	taken, err := c.tryEnd(s, j)
	if err == nil && !taken {
		err = fmt.Errorf("the outcome of %s was dropped", j.Job.ID)
	}
	return err
}

// tryEnd settles a claim and says whether its outcome was taken.
func (c *rig) tryEnd(s driven.Store, j driven.Claimed) (taken bool, err error) {
	err = uncontended(func() error {
		got, err := s.Settle(c.Context(), []driven.Outcome{done(j)})
		taken = len(got.Dropped) == 0
		return err
	})
	return taken, err
}

// retry: of dead jobs with one key, retried at once, one comes back and the others are refused.
func concurrencyRetry(c *rig) {
	stores := c.handles(8)
	var ids []domain.JobID
	for range len(stores) {
		ids = append(ids, c.ended(died, unique("k")))
	}
	for range size(4, 30) {
		errs := make([]error, len(stores))
		c.race(len(stores), func(i int) error {
			r := edits(ids[i])
			r.Due.After = long
			got, err := stores[i].Retry(c.Context(), r)
			if err == nil {
				errs[i] = got[0].Err
			}
			return err
		})
		back := 0
		for i, err := range errs {
			if err == nil {
				back++
				c.inState(ids[i], domain.Scheduled)
				continue
			}
			c.wantCode("retry of a key that was retaken", err, domain.Conflict)
			c.wantTerminal(ids[i])
		}
		equal(c, "jobs that came back", back, 1)
		c.cancel(c.list(domain.Filter{States: []domain.State{domain.Scheduled}})...)
	}
}

func (c *rig) wantTerminal(id domain.JobID) {
	c.Helper()
	if row := c.get(id); !row.State.Terminal() {
		c.Fatalf("job %s is %s, want it in a terminal state", id, row.State)
	}
}

// prune: passes at once remove each row once.
func concurrencyPrune(c *rig) {
	c.endAll(c.claimSet(100), done, c.short())
	c.pass(c.short() + time.Millisecond)
	var removed atomic.Int64
	stores := c.handles(6)
	c.race(len(stores), func(i int) error {
		for {
			got, err := stores[i].Prune(c.Context(), driven.PruneRequest{Limit: 7})
			removed.Add(int64(got.Removed))
			if err != nil || got.Removed == 0 {
				return err
			}
		}
	})
	equal(c, "removed rows", int(removed.Load())+c.prune(100, ""), 100)
	equal(c, "rows left", c.count(domain.Filter{}), 0)
}

// everything: inserts, claims, outcomes, renewals, sweeps, edits and looks at
// once, for a while; each job runs to its end exactly once.
func concurrencyEverything(c *rig) {
	per := size(60, 600)
	stores := c.handles(8)
	var ends sync.Map
	twice := func(id domain.JobID) error {
		if _, loaded := ends.LoadOrStore(id, true); loaded {
			return fmt.Errorf("job %s ended twice", id)
		}
		return nil
	}
	c.race(len(stores), func(i int) error {
		for k := range per {
			if err := uncontended(func() error {
				_, err := stores[i].Insert(c.Context(), []domain.NewJob{c.job(priority(k % 3)), c.job(unique(fmt.Sprint(k % 5)))})
				return err
			}); err != nil {
				return err
			}
			if err := c.runSome(stores[i], twice); err != nil {
				return err
			}
			if err := uncontended(func() error { return c.meddle(stores[i], k) }); err != nil {
				return err
			}
		}
		return nil
	})
	for c.runSomeNow(twice) {
	}
	equal(c, "jobs left", c.stats("").Totals().Pending()+c.stats("").Totals().Running, int64(0))
	doneRows := c.count(domain.Filter{States: []domain.State{domain.Done}})
	ended := 0
	ends.Range(func(any, any) bool { ended++; return true })
	equal(c, "done jobs", doneRows, ended)
}

// runSome claims a few jobs, renews them and settles them.
func (c *rig) runSome(s driven.Store, end func(domain.JobID) error) error {
	var got driven.Claims
	err := uncontended(func() (err error) { got, err = s.Claim(c.Context(), c.request(3)); return err })
	if err != nil || len(got.Jobs) == 0 {
		return err
	}
	if err := uncontended(func() error {
		r, err := s.Renew(c.Context(), driven.RenewRequest{Tickets: renewals(got.Jobs...), Lease: long})
		if err == nil && len(r.Lost) > 0 {
			return fmt.Errorf("live claims were lost: %v", r.Lost)
		}
		return err
	}); err != nil {
		return err
	}
	for _, j := range got.Jobs {
		if err := errors.Join(c.endNow(s, j), end(j.Job.ID)); err != nil {
			return err
		}
	}
	return nil
}

func (c *rig) runSomeNow(end func(domain.JobID) error) bool {
	c.Helper()
	before := c.stats("").Totals().Pending()
	c.ok("run what is left", c.runSome(c.store, end))
	return before > 0
}

// meddle does what others do meanwhile and changes the fate of no job.
func (c *rig) meddle(s driven.Store, k int) (err error) {
	switch k % 4 {
	case 0:
		_, err = s.Recover(c.Context(), sweep())
	case 1:
		_, err = s.Stats(c.Context(), "", 100)
	case 2:
		_, err = s.Prune(c.Context(), driven.PruneRequest{Limit: 10})
	case 3:
		_, err = s.Jobs(c.Context(), domain.Filter{States: []domain.State{domain.Ready}}, domain.Page{Size: 20})
	}
	return err
}
