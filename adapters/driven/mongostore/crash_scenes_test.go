package mongostore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func nothing() {}

func scenes() map[string]scene {
	return map[string]scene{
		"insert": func(w *world) (func() error, func()) {
			all := w.jobs()
			return func() error { _, err := w.store.Insert(w.Context(), all); return err }, nothing
		},
		"admit":      brokenAdmit,
		"admit next": brokenSecondAdmit,
		"wake": func(w *world) (func() error, func()) {
			w.enter()
			w.start()
			outcomes, keys := w.outcomes(done, 0)
			_, err := w.store.Settle(w.Context(), outcomes)
			w.ok("settle", err)
			return func() error { _, err := w.store.Wake(w.Context(), keys); return err }, nothing
		},
		"settle":  brokenSettle,
		"hold":    func(w *world) (func() error, func()) { return brokenHold(w, false, lease/2) },
		"release": func(w *world) (func() error, func()) { return brokenHold(w, true, 0) },
		"expire":  brokenExpire,
		"recover": func(w *world) (func() error, func()) {
			w.enter()
			w.start()
			clear(w.alive)
			w.clock.Advance(lease + time.Millisecond)
			return w.recover, nothing
		},
		"reap": func(w *world) (func() error, func()) {
			w.enter()
			w.start()
			clear(w.alive)
			w.clock.Advance(lease + time.Millisecond)
			w.ok("recover", w.recover())
			return w.reap, nothing
		},
		"declare": func(w *world) (func() error, func()) { return brokenDeclare(w, 1) },
		"loosen":  brokenLoosen,
		"retry": func(w *world) (func() error, func()) {
			return brokenEdit(w, driven.Editor.Retry, driven.EditRequest{})
		},
		"cancel": func(w *world) (func() error, func()) {
			return brokenEdit(w, driven.Editor.Cancel, driven.EditRequest{Keep: time.Hour})
		},
		"cancel running": brokenCancel,
		"reschedule": func(w *world) (func() error, func()) {
			return brokenEdit(w, driven.Editor.Reschedule, driven.EditRequest{Due: domain.Due{After: time.Millisecond}})
		},
		"delete": func(w *world) (func() error, func()) {
			return brokenEdit(w, driven.Editor.Delete, driven.EditRequest{})
		},
		"unchain":           brokenUnchain,
		"failure":           brokenFailure,
		"failure of stalls": brokenStall,
		"replace":           brokenReplace,
		"add":               brokenAdd,
		"seal":              brokenSeal,
		"finish":            brokenFinish,
		"advance":           brokenAdvance,
		"redeclare":         brokenRedeclare,
	}
}

func done(domain.JobID) driven.Outcome { return driven.Outcome{To: domain.Done, Counts: true} }

func brokenAdmit(w *world) (func() error, func()) {
	w.enter()
	return admission(w)
}

// brokenSecondAdmit has the slots there, some of them taken and some free.
func brokenSecondAdmit(w *world) (func() error, func()) {
	w.enter()
	w.start()
	w.end(func(domain.JobID) driven.Outcome {
		return driven.Outcome{To: domain.Scheduled, After: time.Millisecond, Counts: true}
	}, 0)
	w.start()
	w.clock.Advance(5 * time.Millisecond)
	w.enter()
	return admission(w)
}

func admission(w *world) (func() error, func()) {
	wants := w.claim(6) // all but the first of the chain: the second wins its slots and gives them back
	var got driven.Admission
	call := func() (err error) {
		got, err = w.store.Admit(w.Context(), driven.AdmitRequest{Wants: wants})
		return err
	}
	return call, func() {
		w.started(wants, got)
		w.wake(got.Wake...)
	}
}

// brokenSettle has one of each end.
func brokenSettle(w *world) (func() error, func()) {
	w.enter()
	w.start()
	n := 0
	outcomes, keys := w.outcomes(func(domain.JobID) driven.Outcome {
		n++
		switch n % 4 {
		case 0:
			return driven.Outcome{To: domain.Scheduled, After: time.Millisecond, Counts: true}
		case 1:
			return driven.Outcome{To: domain.Dead, Counts: true}
		case 2:
			return driven.Outcome{To: domain.Ready}
		}
		return driven.Outcome{To: domain.Done, Counts: true}
	}, 0)
	call := func() error {
		got, err := w.store.Settle(w.Context(), outcomes)
		if err == nil && len(got.Dropped) > 0 {
			w.Fatalf("outcomes were dropped: %v", got.Dropped)
		}
		return err
	}
	return call, func() { w.wake(keys...) }
}

func brokenHold(w *world, end bool, span time.Duration) (func() error, func()) {
	w.enter()
	w.start()
	var all []driven.Holding
	var keys []string
	for t, slots := range w.alive {
		for _, s := range slots {
			all, keys = append(all, driven.Holding{Ticket: t, Slot: s.Slot, End: end, For: span}), append(keys, s.Key)
		}
	}
	if end { // the handlers are about to go on without
		clear(w.alive)
	}
	call := func() error { return w.store.Hold(w.Context(), all) }
	return call, func() { w.wake(keys...) }
}

func brokenExpire(w *world) (func() error, func()) {
	w.enter()
	w.start()
	w.end(done, linger)
	w.clock.Advance(2 * linger)
	var got driven.Expired
	call := func() (err error) { got, err = w.store.Expire(w.Context(), 100); return err }
	return call, func() { w.wake(got.Keys...) }
}

// brokenDeclare lowers the limit and raises it again, for the next play.
func brokenDeclare(w *world, n int) (func() error, func()) {
	w.enter()
	w.start()
	call := func() error {
		if err := w.declare(n); err != nil {
			return err
		}
		return w.declare(allowed)
	}
	return call, nothing
}

func brokenLoosen(w *world) (func() error, func()) {
	w.ok("declare", w.declare(allowed))
	w.enter()
	w.start()
	w.ok("declare", w.declare(0))
	return func() error { _, err := w.store.Loosen(w.Context(), driven.LoosenRequest{Limit: 100}); return err }, nothing
}

// brokenEdit changes all that waits. Where the operator does not come again, all
// works on as it is.
func brokenEdit(w *world, edit editing, req driven.EditRequest) (func() error, func()) {
	w.enter()
	w.start()
	blocked, err := w.store.Match(w.Context(), domain.Filter{States: []domain.State{domain.Blocked}}, domain.Page{Size: 100})
	w.ok("match", err)
	if len(blocked) == 0 {
		w.Fatal("nothing waits")
	}
	req.IDs = blocked
	var keys []string
	call := func() error {
		got, err := edit(w.store, w.Context(), req)
		for _, e := range got {
			keys = append(keys, e.Keys...)
		}
		return err
	}
	return call, func() { w.wake(keys...) }
}

// brokenCancel gives up all that runs. Their runner is gone with what they hold, which a
// sweep must find, whether the operator comes again or not.
func brokenCancel(w *world) (func() error, func()) {
	w.enter()
	w.start()
	req := driven.EditRequest{Keep: time.Hour}
	for t := range w.alive {
		req.IDs = append(req.IDs, t.ID)
	}
	clear(w.alive)
	return func() error { _, err := w.store.Cancel(w.Context(), req); return err }, nothing
}

type editing func(driven.Editor, context.Context, driven.EditRequest) ([]domain.Edited, error)

// brokenUnchain has a chain that its dead blocks. Its operator always comes again.
func brokenUnchain(w *world) (func() error, func()) {
	all := jobs(3)
	for i := range all {
		all[i].Turn, all[i].Keys, all[i].OnDead = domain.TurnChain, []string{"a", "b"}, domain.Block
		w.turns[all[i].ID] = domain.TurnChain
	}
	_, err := w.store.Insert(w.Context(), all)
	w.ok("insert", err)
	w.start()
	w.end(func(domain.JobID) driven.Outcome { return driven.Outcome{To: domain.Dead, Counts: true} }, 0)
	w.start()
	if len(w.alive) > 0 {
		w.Fatal("a blocked chain went on")
	}
	blocks, err := w.store.Chains(w.Context(), "", 10)
	w.ok("chains", err)
	if len(blocks) != 2 || blocks[0].Job != all[0].ID || blocks[1].Job != all[0].ID {
		w.Fatalf("the chains are %v", blocks)
	}
	call := func() error {
		_, err := w.store.Unchain(w.Context(), blocks[0].Key)
		if err != nil {
			_, err = w.store.Unchain(w.Context(), blocks[0].Key)
		}
		return err
	}
	return call, func() { w.wake(blocks[0].Key, blocks[1].Key) }
}

func (w *world) declare(n int) error {
	if n == 0 {
		return w.store.Declare(w.Context(), []string{limitedKind}, nil)
	}
	d := domain.Declaration{Kind: limitedKind, Sort: domain.BoundLimit, Group: "group", N: n}
	if err := d.Validate(); err != nil {
		return fmt.Errorf("the test's own: %w", err)
	}
	return w.store.Declare(w.Context(), []string{limitedKind}, []domain.Declaration{d})
}
