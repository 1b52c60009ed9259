package mongostore_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/faults"
)

const (
	plainKind, limitedKind = "test/job", "test/limited"
	lease, linger          = time.Minute, time.Second
	allowed                = 2 // limited jobs at once
)

// world is a store that is broken between any two commands, and a runner with its
// handlers. What it checks at every start: no slot has a second handler, and no
// job of a chain starts before the ones ahead of it have ended.
type world struct {
	*testing.T
	store driven.Store
	plan  *faults.Plan
	clock *conformance.Clock
	alive map[domain.Ticket][]domain.HeldSlot
	turns map[domain.JobID]domain.Turn

	upkeep func()           // what a scene's sweeps do besides
	check  func(again bool) // what must hold in the end, whether the caller came again or died
}

// scene brings a world to where a call will be broken. What comes after the call
// is done by a runner that lives on.
type scene func(w *world) (call func() error, then func())

// Every command of every call is broken, before and after it took, and the caller
// asks again or dies. One sweep puts everything right: all jobs end, in their
// order, no slot has two holders and none stays taken.
func TestCrashBetweenAnyTwoCommands(t *testing.T) {
	all := newShelf(t)
	for name, play := range scenes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, all.take(t))
			for n, struck := 1, true; struck; n++ {
				struck = false
				for _, when := range []faults.When{faults.Before, faults.After} {
					for _, again := range []bool{true, false} {
						struck = w.breakAt(play, n, when, again) || struck
					}
				}
				if n == 1 && !struck {
					t.Fatal("the call has no command that can be broken")
				}
			}
		})
	}
}

func newWorld(t *testing.T, uri string) *world {
	w := &world{T: t, plan: faults.NewPlan(), clock: conformance.NewClock()}
	cfg := mongostore.Config{URI: uri, Now: w.clock.Now}
	w.store = harness(t, cfg, func(o *options.ClientOptions) { o.SetDialer(faults.Dialer{Plan: w.plan}) }).Backend.Store
	w.ok("declare", w.declare(allowed))
	return w
}

// breakAt plays the scene with one command broken and says whether that struck.
func (w *world) breakAt(play scene, n int, when faults.When, again bool) (struck bool) {
	w.Helper()
	w.alive, w.turns = map[domain.Ticket][]domain.HeldSlot{}, map[domain.JobID]domain.Turn{}
	w.upkeep, w.check = func() {}, func(bool) {}
	call, then := play(w)
	w.plan.Reset()
	w.plan.At(n, when, faults.Cut())
	err := call()
	struck = w.plan.Pending() == 0
	steps := w.plan.Statements()
	w.plan.Reset()
	defer func() {
		if w.Failed() {
			w.Logf("broken %v command %d of %q, asked again: %v, the call said %v", when, n, steps, again, err)
		}
	}()
	switch {
	case again:
		if err != nil {
			w.ok("call that is made again", call())
		}
		then()
	case err == nil:
		then()
	}
	if !again {
		clear(w.alive)
	}
	w.sweep()
	w.finish(again)
	return struck
}

func (w *world) ok(what string, err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%s: %v (%v)", what, err, errors.Unwrap(err))
	}
}

// sweep is upkeep once, after all that nobody renews has run out.
func (w *world) sweep() {
	w.Helper()
	w.clock.Advance(lease + time.Millisecond)
	var live []driven.Renewal
	for t := range w.alive {
		live = append(live, driven.Renewal{Ticket: t})
	}
	_, err := w.store.Renew(w.Context(), driven.RenewRequest{Tickets: live, Lease: lease})
	w.ok("renew", err)
	w.ok("recover", w.recover())
	w.ok("reap", w.reap())
	w.clock.Advance(linger + time.Millisecond)
	_, err = w.store.Expire(w.Context(), 1000)
	w.ok("expire", err)
	keys, err := w.store.BlockedKeys(w.Context(), "", 1000)
	w.ok("blocked keys", err)
	w.wake(keys...)
	w.upkeep()
}

func (w *world) recover() error {
	policy := domain.StallPolicy{Base: time.Millisecond, Cap: time.Millisecond, Max: 100}
	_, err := w.store.Recover(w.Context(), driven.RecoverRequest{Limit: 100, Stalls: policy})
	return err
}

func (w *world) reap() error {
	for after, more := (domain.Slot{}), true; more; {
		got, err := w.store.Reap(w.Context(), driven.ReapRequest{After: after, Limit: 3, Linger: linger})
		if err != nil {
			return err
		}
		after, more = got.Last, got.More
	}
	return nil
}

func (w *world) wake(keys ...string) {
	w.Helper()
	_, err := w.store.Wake(w.Context(), keys)
	w.ok("wake", err)
}

// finish works until nothing is left, without a sweep but the scene's own.
func (w *world) finish(again bool) {
	w.Helper()
	for idle := 0; idle < 3; idle++ {
		w.upkeep()
		if w.start(); len(w.alive) > 0 {
			idle = 0
			w.end(done, 0)
		}
		w.clock.Advance(10 * time.Millisecond)
	}
	jobs, err := w.store.Jobs(w.Context(), domain.Filter{}, domain.Page{Size: domain.MaxPage})
	w.ok("list jobs", err)
	var ids []domain.JobID
	for i := range jobs {
		if ids = append(ids, jobs[i].ID); !jobs[i].State.Terminal() {
			w.Fatalf("job %s is stranded: %s on %q", jobs[i].ID, jobs[i].State, jobs[i].BlockedOn)
		}
	}
	held, err := w.store.Held(w.Context(), domain.Slot{}, 100)
	w.ok("held slots", err)
	if len(held) > 0 {
		w.Fatalf("slots stay taken: %+v", held)
	}
	w.check(again)
	_, err = w.store.Delete(w.Context(), driven.EditRequest{IDs: ids})
	w.ok("delete", err)
}

// enter inserts jobs of every sort.
func (w *world) enter() []domain.NewJob {
	w.Helper()
	all := w.jobs()
	_, err := w.store.Insert(w.Context(), all)
	w.ok("insert", err)
	return all
}

func (w *world) jobs() []domain.NewJob {
	all := jobs(7)
	for i, keys := range [][]string{{"a", "b"}, {"b", "a"}, {"a"}, {"a"}} {
		all[i].Turn, all[i].Keys = domain.TurnMutex, keys
		if i < 2 {
			all[i].Turn = domain.TurnChain
		}
	}
	for i := 3; i < len(all); i++ {
		all[i].Kind = limitedKind
	}
	for i := range all {
		all[i].Priority = -i // the claims bring the last ones first
		w.turns[all[i].ID] = all[i].Turn
	}
	return all
}

// claim takes what is due.
func (w *world) claim(n int) []driven.Want {
	w.Helper()
	got, err := w.store.Claim(w.Context(), driven.ClaimRequest{
		Token: ids.NewToken(), Runner: "runner", Lease: lease, Queue: "default", Kinds: []string{plainKind, limitedKind}, N: n,
	})
	w.ok("claim", err)
	wants := make([]driven.Want, len(got.Jobs))
	for i, j := range got.Jobs {
		wants[i] = driven.Want{Ticket: j.Ticket(), Kind: j.Job.Kind, Limit: true, Rate: true, Turn: j.Job.Turn != domain.NoTurn}
	}
	return wants
}

// start claims a few at a time, asks for their bounds, starts handlers and wakes,
// until nothing is due.
func (w *world) start() {
	w.Helper()
	for wants := w.claim(3); len(wants) > 0; wants = w.claim(3) {
		got, err := w.store.Admit(w.Context(), driven.AdmitRequest{Wants: wants})
		w.ok("admit", err)
		w.started(wants, got)
		w.wake(got.Wake...)
	}
}

func (w *world) started(wants []driven.Want, got driven.Admission) {
	w.Helper()
	for _, a := range got.Admitted {
		i := slices.IndexFunc(wants, func(x driven.Want) bool { return x.Ticket.ID == a.ID })
		for t, slots := range w.alive {
			for _, s := range slots {
				if slices.Contains(a.Slots, s) {
					w.Fatalf("slot %v has a second holder, %s beside %s", s, a.ID, t.ID)
				}
			}
		}
		w.inOrder(a.ID)
		w.alive[wants[i].Ticket] = a.Slots
	}
}

// inOrder checks that the jobs ahead in the same chain have ended.
func (w *world) inOrder(id domain.JobID) {
	w.Helper()
	if w.turns[id] != domain.TurnChain {
		return
	}
	all, err := w.store.Jobs(w.Context(), domain.Filter{Kind: plainKind}, domain.Page{Size: domain.MaxPage})
	w.ok("list jobs", err)
	for _, o := range all {
		if o.Turn == domain.TurnChain && o.ID.Compare(id) < 0 && !o.State.Terminal() {
			w.Fatalf("job %s starts while the one ahead of it is %s", id, o.State)
		}
	}
}

// end settles every handler and wakes.
func (w *world) end(how func(domain.JobID) driven.Outcome, keep time.Duration) {
	w.Helper()
	outcomes, keys := w.outcomes(how, keep)
	_, err := w.store.Settle(w.Context(), outcomes)
	w.ok("settle", err)
	w.wake(keys...)
}

// outcomes are those of all handlers, which are over then.
func (w *world) outcomes(how func(domain.JobID) driven.Outcome, keep time.Duration) (all []driven.Outcome, keys []string) {
	for t, slots := range w.alive {
		o := how(t.ID)
		o.Ticket, o.Keep, o.Turn = t, time.Hour, w.turns[t.ID] != domain.NoTurn
		for _, s := range slots {
			o.Slots = append(o.Slots, domain.SlotEnd{Slot: s.Slot, After: keep})
			keys = append(keys, s.Key)
		}
		all = append(all, o)
	}
	clear(w.alive)
	return all, keys
}
