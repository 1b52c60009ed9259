package conformance

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// book is what a checker knows of jobs with bounds: who runs at each key, and
// whose turn it was.
type book struct {
	limit int // what a limit allows

	mu      sync.Mutex
	asked   int
	left    int // jobs that are not over
	entries map[domain.JobID]*entry
	lines   map[string][]*entry // those that take turns at a key
	running map[string]int
}

// entry is one job of the book.
type entry struct {
	place domain.Place // as enqueued
	since int          // asks since then may not overlook it
	moved bool         // it waits for another attempt, at a place that is not known
	dead  bool         // and blocks its chains
	over  bool
}

func newBook(limit int) *book {
	return &book{limit: limit, entries: map[domain.JobID]*entry{}, lines: map[string][]*entry{}, running: map[string]int{}}
}

// expect enters jobs that are about to be inserted; each must have its Due.At.
func (b *book) expect(jobs []domain.NewJob) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range jobs {
		n := &jobs[i]
		e := &entry{place: domain.Place{Due: n.Due.At.UnixMilli(), ID: n.ID}, since: math.MaxInt}
		b.entries[n.ID] = e
		b.left++
		for _, key := range n.TurnKeys() {
			b.lines[key] = append(b.lines[key], e)
		}
	}
}

// list notes that the jobs are there for all: from now on nobody may overlook them.
func (b *book) list(jobs []domain.NewJob) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range jobs {
		b.entries[jobs[i].ID].since = b.asked
	}
}

// ask is a moment before an admission.
func (b *book) ask() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	return b.asked
}

// enter notes that a job starts, and finds whom it may not run beside or overtook.
func (b *book) enter(s started, asked int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, key := range s.keys() {
		k, _ := domain.ParseBoundKey(key)
		most := b.limit
		if k.Sort.Turns() {
			most = 1
			errs = append(errs, b.turn(s, k.Sort, key, asked))
		}
		if b.running[key]++; b.running[key] > most {
			errs = append(errs, fmt.Errorf("%d jobs run at key %q", b.running[key], key))
		}
	}
	return errors.Join(errs...)
}

// turn finds who stood before a job that starts, when its admission was asked for.
func (b *book) turn(s started, sort domain.BoundSort, key string, asked int) error {
	own := b.entries[s.Job.ID]
	place := own.place
	if sort == domain.BoundMutex {
		place = domain.Place{Due: s.Job.RunAt.UnixMilli(), ID: s.Job.ID}
	}
	for _, e := range b.lines[key] {
		unsure := e.over || e.since >= asked || sort == domain.BoundMutex && e.moved
		if e != own && !unsure && e.place.Compare(place) < 0 {
			return fmt.Errorf("job %s of %d started at key %q before job %s of %d", s.Job.ID, place.Due, key, e.place.ID, e.place.Due)
		}
	}
	return nil
}

// fate is what becomes of a job that a book has.
type fate uint8

const (
	forGood fate = iota // it is over
	keeps               // it runs again, at its place
	moves               // it runs again, a mutex at another place
	blocks              // it is dead and keeps its chains
)

// leave notes that a job ends, before its outcome is sent.
func (b *book) leave(s started, f fate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range s.keys() {
		b.running[key]--
	}
	b.follow(s.Job.ID, f)
}

func (b *book) follow(id domain.JobID, f fate) {
	e := b.entries[id]
	switch f {
	case forGood:
		b.left--
		e.over = true
	case moves:
		e.moved = true
	case blocks:
		b.left--
		e.dead = true
	}
}

// release notes that the dead of a chain block it no more.
func (b *book) release(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.lines[key] {
		e.over = e.over || e.dead
	}
}

func (b *book) rest() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}

// actor is one of those who do anything at once to a store with bounds.
type actor struct {
	*rig
	*book
	store driven.Store
	rng   *rand.Rand
	base  time.Time
	quota int           // jobs it may insert yet
	calm  *sync.RWMutex // held by who may not be swept meanwhile
}

// model: inserts, claims, admissions, outcomes of every sort, crashes and sweeps
// at once, with jobs of two, one or no key and a limit: never two at a key, never
// more than a limit allows, nobody overtaken at its key, and in the end all is
// over though nobody looked but after writes.
func boundModel(c *rig) {
	const actors = 4
	c.declare(limited(kind, 2))
	b := newBook(2)
	var calm sync.RWMutex
	stores, base := c.handles(actors), c.now()
	newActor := func(i int) *actor {
		return &actor{rig: c, book: b, store: stores[i], rng: newRand(uint64(i)), base: base, quota: size(300, 4000) / actors, calm: &calm}
	}
	c.race(actors, func(i int) error {
		a := newActor(i)
		for a.quota > 0 {
			if err := a.act(); err != nil {
				return err
			}
			runtime.Gosched()
		}
		return nil
	})
	a := newActor(0)
	over := func() bool { return b.rest() == 0 && len(c.chains()) == 0 }
	for !over() { // a slow store may take its time, as long as it goes on
		left := b.rest()
		c.ok("run what is left", c.until(func() bool { return b.rest() < left || over() }, a.tidy))
	}
	c.taken()
	equal(c, "keys that are waited for", len(c.blockedKeys()), 0)
	ends := []domain.State{domain.Done, domain.Dead}
	equal(c, "jobs that are over", c.count(domain.Filter{States: ends}), actors*(size(300, 4000)/actors))
}

func (a *actor) act() error {
	switch n := a.rng.IntN(20); {
	case n < 7:
		return a.insertSome()
	case n < 15:
		return a.runSome(a.roll)
	case n < 16:
		return a.giveBack()
	case n < 18:
		return a.crash()
	default:
		return a.sweep()
	}
}

func (a *actor) insertSome() error {
	jobs := make([]domain.NewJob, min(1+a.rng.IntN(5), a.quota))
	for i := range jobs {
		jobs[i] = a.random()
	}
	a.quota -= len(jobs)
	a.expect(jobs)
	if err := a.enterNew(jobs); err != nil {
		return err
	}
	a.book.list(jobs)
	return nil
}

// enterNew inserts, now and then in a host's transaction.
func (a *actor) enterNew(jobs []domain.NewJob) error {
	if a.Begin == nil || a.rng.IntN(4) > 0 {
		return uncontended(func() error { _, err := a.store.Insert(a.Context(), jobs); return err })
	}
	return uncontended(func() error {
		tx := a.Begin(a)
		in, err := a.Backend.Tx.Bind(tx.Tx)
		if err == nil {
			_, err = in.Insert(a.Context(), jobs)
		}
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	})
}

func (a *actor) random() domain.NewJob {
	n := domain.NewJob{ID: a.id(), Kind: kind, Queue: queue, Args: []byte(`{}`), Priority: a.rng.IntN(3)}
	n.Due.At = a.base.Add(-time.Duration(a.rng.IntN(60_000)) * time.Millisecond)
	if a.rng.IntN(2) == 0 {
		n.Kind = other
	}
	n.LimitKey = []string{"", "x", "y"}[a.rng.IntN(3)]
	for range a.rng.IntN(3) {
		n.Keys = append(n.Keys, fmt.Sprint("k", a.rng.IntN(6)))
	}
	if len(n.Keys) > 0 {
		if n.Turn = domain.TurnMutex; a.rng.IntN(2) == 0 {
			n.Turn, n.OnDead = domain.TurnChain, domain.OnDead(a.rng.IntN(2))
		}
	}
	return n
}

func (a *actor) take(n int, lease time.Duration) (driven.Claims, error) {
	r := a.request(n)
	r.Kinds, r.Lease = []string{kind, other}, lease
	var got driven.Claims
	err := uncontended(func() (err error) { got, err = a.store.Claim(a.Context(), r); return err })
	return got, err
}

// runSome runs what it may of a claim, all at once, and ends each as it is told.
func (a *actor) runSome(end func(started) (fate, driven.Outcome)) error {
	got, err := a.take(1+a.rng.IntN(8), 100*long)
	if err != nil || len(got.Jobs) == 0 {
		return err
	}
	asked := a.book.ask()
	running, err := a.admitBy(a.store, got.Jobs)
	if err != nil {
		return err
	}
	for _, s := range running {
		if err := a.enter(s, asked); err != nil {
			return err
		}
	}
	runtime.Gosched()
	for _, s := range running {
		f, o := end(s)
		a.leave(s, f)
		if err := a.overBy(a.store, s, o); err != nil {
			return err
		}
	}
	return nil
}

// roll is any end of a job.
func (a *actor) roll(s started) (fate, driven.Outcome) {
	wait := time.Duration(a.rng.IntN(3)) * time.Millisecond
	switch n := a.rng.IntN(20); {
	case n < 4:
		return moves, failed(s.Claimed, wait)
	case n < 5:
		return moves, snoozed(s.Claimed, wait)
	case n < 6:
		return keeps, released(s.Claimed)
	case n < 8 && s.Job.OnDead == domain.Block:
		return blocks, died(s.Claimed)
	case n < 8:
		return forGood, died(s.Claimed)
	}
	return forGood, done(s.Claimed)
}

// giveBack releases claims that never asked for their bounds.
func (a *actor) giveBack() error {
	got, err := a.take(2, 100*long)
	for _, j := range got.Jobs {
		err = errors.Join(err, a.overBy(a.store, started{Claimed: j}, released(j)))
	}
	return err
}

// crash leaves claims to their lease, admitted or not.
func (a *actor) crash() error {
	a.calm.RLock()
	defer a.calm.RUnlock()
	got, err := a.take(1+a.rng.IntN(2), time.Millisecond)
	if err == nil && a.rng.IntN(2) == 0 {
		_, err = a.admitBy(a.store, got.Jobs)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, j := range got.Jobs {
		a.follow(j.Job.ID, moves)
	}
	return err
}

// sweep puts back what crashed, a few milliseconds later.
func (a *actor) sweep() error {
	a.calm.Lock()
	defer a.calm.Unlock()
	if a.Advance != nil {
		a.Advance(2 * time.Millisecond)
	}
	r := driven.RecoverRequest{Limit: 100, Stalls: domain.StallPolicy{Base: time.Millisecond, Cap: time.Millisecond, Max: 1000}, KeepDead: domain.KeepForever}
	err := uncontended(func() error { _, err := a.store.Recover(a.Context(), r); return err })
	for page := (driven.ReapRequest{Limit: 10, Linger: time.Millisecond}); err == nil; {
		var got driven.Reaped
		err = uncontended(func() (err error) { got, err = a.store.Reap(a.Context(), page); return err })
		if page.After = got.Last; !got.More {
			break
		}
	}
	if err != nil {
		return err
	}
	var freed driven.Expired
	if err := uncontended(func() (err error) { freed, err = a.store.Expire(a.Context(), 100); return err }); err != nil {
		return err
	}
	return a.wakeBy(a.store, freed.Keys)
}

// tidy brings what is left to its end.
func (a *actor) tidy() error {
	if a.Advance == nil {
		wait(2 * time.Millisecond)
	}
	for _, dead := range a.chains() {
		a.release(dead.Key)
		if _, err := a.store.Unchain(a.Context(), dead.Key); err != nil {
			return err
		}
		if err := a.wakeBy(a.store, []string{dead.Key}); err != nil {
			return err
		}
	}
	return errors.Join(a.sweep(), a.runSome(func(s started) (fate, driven.Outcome) { return forGood, done(s.Claimed) }))
}
