package memstore

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestRacingClaimers takes each job exactly once.
func TestRacingClaimers(t *testing.T) {
	const jobs, claimers = 2_000, 16
	b := open(t)
	all := make([]domain.NewJob, jobs)
	for i := range all {
		all[i] = b.job()
		all[i].Priority = i % 3
	}
	b.add(all...)
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		seen = map[domain.JobID]int{}
	)
	barrier := make(chan struct{})
	for range claimers {
		wg.Go(func() {
			<-barrier
			for {
				claims := b.claim(7)
				mu.Lock()
				for _, c := range claims.Jobs {
					seen[c.Job.ID]++
				}
				mu.Unlock()
				if len(claims.Jobs) == 0 {
					return
				}
			}
		})
	}
	close(barrier)
	wg.Wait()
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%v was claimed %d times", id, n)
		}
	}
	if len(seen) != jobs {
		t.Errorf("%d of %d jobs were claimed", len(seen), jobs)
	}
}

// TestRandomOperations lets goroutines do anything at once. Whatever happens,
// the indexes agree with the rows after each step of the checker and at the end.
func TestRandomOperations(t *testing.T) {
	b := open(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { newActor(b).run(1_500) })
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return // open's cleanup checks once more
		default:
			b.check()
			b.pass(time.Duration(rand.IntN(2_000)) * time.Millisecond)
		}
	}
}

// actor does random things to a store and remembers what it met.
type actor struct {
	*bench
	ids    []domain.JobID
	claims []driven.Claimed
	sets   []domain.BatchID
}

func newActor(b *bench) *actor { return &actor{bench: b} }

func (a *actor) run(steps int) {
	acts := []func() error{
		a.insert, a.insert, a.inTx, a.take, a.take, a.finish, a.renew, a.sweep, a.edit, a.look,
		a.bind, a.bind, a.move, a.redeclare, a.gather, a.gather, a.plan,
	}
	for range steps {
		if err := acts[rand.IntN(len(acts))](); err != nil {
			switch domain.CodeOf(err) {
			case domain.Conflict, domain.Contended, domain.NotFound: // what rivals may cause
			default:
				a.Error(err)
			}
		}
	}
}

func (a *actor) random() (jobs []domain.NewJob) {
	for range 1 + rand.IntN(5) {
		job := a.job()
		job.Kind, job.Queue = []string{"k", "k2"}[rand.IntN(2)], []string{"q", "q2"}[rand.IntN(2)]
		job.Priority, job.Tenant = rand.IntN(3), []string{"", "t"}[rand.IntN(2)]
		job.Due.After = time.Duration(rand.IntN(2)*rand.IntN(5_000)) * time.Millisecond
		job.LimitKey, job.Turn = []string{"", "a"}[rand.IntN(2)], domain.Turn(rand.IntN(3))
		if job.Turn != domain.NoTurn {
			job.Keys = []string{"a", "b", "c"}[rand.IntN(3):]
		}
		if job.Turn == domain.TurnChain {
			job.OnDead = domain.OnDead(rand.IntN(2))
		}
		if rand.IntN(2) == 0 {
			job.Unique = &domain.Unique{Key: string(rune('a' + rand.IntN(20))), OnConflict: domain.OnConflict(rand.IntN(4))}
			if rand.IntN(4) == 0 {
				job.Unique.Window = time.Second
			}
		}
		if len(a.sets) > 0 && rand.IntN(3) == 0 {
			job.Batch = a.sets[len(a.sets)-1]
		}
		jobs = append(jobs, job)
		a.ids = append(a.ids, job.ID)
	}
	return jobs
}

func (a *actor) insert() error {
	_, err := a.Insert(a.Context(), a.random())
	return err
}

func (a *actor) inTx() error {
	tx, in := a.begin()
	defer func() { _ = tx.Rollback() }()
	for range 2 {
		if _, err := in.Insert(a.Context(), a.random()); err != nil {
			return err
		}
	}
	if rand.IntN(2) == 0 {
		return tx.Rollback()
	}
	return tx.Commit()
}

func (a *actor) take() error {
	got, err := a.Claim(a.Context(), driven.ClaimRequest{
		Token: a.bench.ids.NewToken(), Runner: "r", Lease: time.Duration(rand.IntN(5_000)) * time.Millisecond,
		Queue: []string{"q", "q2"}[rand.IntN(2)], Kinds: []string{"k", "k2"}[:1+rand.IntN(2)], N: rand.IntN(6),
	})
	for _, c := range got.Jobs {
		if c.Job.RunAt.After(a.clock()) {
			a.Errorf("%v was claimed before it was due", c.Job.ID)
		}
	}
	a.claims = append(a.claims, got.Jobs...)
	return err
}

func (a *actor) finish() error {
	var outcomes []driven.Outcome
	for range min(4, len(a.claims)) { // now and then twice, now and then stale
		c := a.claims[rand.IntN(len(a.claims))]
		outcomes = append(outcomes, driven.Outcome{
			Ticket: c.Ticket(), To: domain.State(rand.IntN(8)), After: time.Duration(rand.IntN(3_000)) * time.Millisecond,
			Slots:  []domain.SlotEnd{{Slot: a.slot(), After: time.Duration(rand.IntN(2_000)) * time.Millisecond}},
			Counts: rand.IntN(2) == 0, Keep: time.Duration(rand.IntN(3)-1) * time.Second, ForgetArgs: rand.IntN(4) == 0,
		})
	}
	_, err := a.Settle(a.Context(), outcomes)
	return err
}

func (a *actor) renew() error {
	var held []driven.Renewal
	for _, c := range a.claims {
		held = append(held, driven.Renewal{Ticket: c.Ticket(), Stuck: rand.IntN(2) == 0})
	}
	_, err := a.Renew(a.Context(), driven.RenewRequest{Tickets: held, Lease: time.Second})
	return err
}

func (a *actor) sweep() error {
	if _, err := a.Recover(a.Context(), driven.RecoverRequest{Limit: 5, Stalls: domain.StallPolicy{Base: time.Second, Cap: time.Minute, Max: 1}}); err != nil {
		return err
	}
	_, err := a.Prune(a.Context(), driven.PruneRequest{Limit: 5, Tenant: []string{"", "t"}[rand.IntN(2)]})
	return err
}

func (a *actor) edit() error {
	if len(a.ids) == 0 {
		return nil
	}
	req := driven.EditRequest{IDs: []domain.JobID{a.ids[rand.IntN(len(a.ids))], a.ids[rand.IntN(len(a.ids))]}, Due: domain.Due{After: time.Duration(rand.IntN(2)) * time.Second}}
	edits := []func() ([]domain.Edited, error){
		func() ([]domain.Edited, error) { return a.Retry(a.Context(), req) },
		func() ([]domain.Edited, error) { return a.Cancel(a.Context(), req) },
		func() ([]domain.Edited, error) { return a.Delete(a.Context(), req) },
		func() ([]domain.Edited, error) { return a.Reschedule(a.Context(), req) },
	}
	_, err := edits[rand.IntN(len(edits))]()
	return err
}

func (a *actor) look() error {
	stats, err := a.Stats(a.Context(), "", 1_000_000)
	if err != nil {
		return err
	}
	if totals := stats.Totals(); totals.Running < totals.Stuck || !stats.Exact {
		a.Errorf("%+v", totals)
	}
	if _, err = a.Jobs(a.Context(), domain.Filter{Tenant: "t"}, domain.Page{Size: 10}); err != nil {
		return err
	}
	_, _, err = a.Count(a.Context(), domain.Filter{States: []domain.State{domain.Done}}, 10)
	return err
}
