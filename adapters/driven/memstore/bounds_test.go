package memstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// boundProblems compares what is kept of bounds with the rows.
func (s *store) boundProblems() (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	blocked, turns := map[string]int{}, map[string]int{}
	for id, r := range s.rows {
		if (r.State == domain.Blocked) != (r.BlockedOn != "") {
			say("%v in %v waits for %q", id, r.State, r.BlockedOn)
		}
		if r.tx != nil {
			continue
		}
		if r.State == domain.Blocked {
			blocked[r.BlockedOn]++
		}
		for _, key := range r.keys {
			if r.hasTurn() {
				turns[key]++
			}
		}
	}
	for what, pair := range map[string]struct {
		rows map[string]int
		kept map[string]*index
	}{"blocked": {blocked, s.blocked}, "turns": {turns, s.turns}} {
		if len(pair.rows) != len(pair.kept) {
			say("%s: %d keys, %d kept", what, len(pair.rows), len(pair.kept))
		}
		for key, x := range pair.kept {
			if x.size != pair.rows[key] {
				say("%s at %q: %d rows, %d kept", what, key, pair.rows[key], x.size)
			}
			found = append(found, ordered(x)...)
		}
	}
	return append(found, s.slotProblems()...)
}

func (s *store) slotProblems() (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	ending := 0
	for key, numbers := range s.slots {
		if len(numbers) == 0 {
			say("no slot of %q and a place for them", key)
		}
		for i, x := range numbers {
			if x.token.IsZero() != x.job.IsZero() && (x.job.IsZero() || x.ends.IsZero()) {
				say("slot %d of %q: token %x, job %v", i, key, x.token, x.job)
			}
			if x.ends.IsZero() {
				continue
			}
			if ending++; s.kept[domain.Slot{Key: key, Index: i}] != x {
				say("slot %d of %q ends and nobody looks", i, key)
			}
		}
	}
	if ending != len(s.kept) {
		say("%d slots end, %d are looked at", ending, len(s.kept))
	}
	return found
}

func (b *bench) admit(jobs ...driven.Claimed) driven.Admission {
	b.Helper()
	var req driven.AdmitRequest
	for _, j := range jobs {
		req.Wants = append(req.Wants, driven.Want{
			Ticket: j.Ticket(), Kind: j.Job.Kind, Limit: true, Rate: true, Turn: j.Job.Turn != domain.NoTurn, OwnLimit: j.Job.LimitKey,
		})
	}
	answer, err := b.Admit(b.Context(), req)
	if err != nil {
		b.Fatal(err)
	}
	return answer
}

func (b *bench) declare(kinds []string, all ...domain.Declaration) {
	b.Helper()
	if err := b.Declare(b.Context(), kinds, all); err != nil {
		b.Fatal(err)
	}
}

func limited(kind, group string, n int) domain.Declaration {
	return domain.Declaration{Kind: kind, Sort: domain.BoundLimit, Group: group, N: n}
}

// TestRowsOfSlotsGo: a store that runs for long keeps no slot of a key that
// nobody uses any more.
func TestRowsOfSlotsGo(t *testing.T) {
	b := open(t)
	b.declare([]string{"k"}, limited("k", "g", 2))
	for i := range 50 {
		j := b.running(func(n *domain.NewJob) { n.LimitKey = fmt.Sprint(i) })
		got := b.admit(j).Admitted
		b.settle1(driven.Outcome{Ticket: j.Ticket(), To: domain.Done, Slots: []domain.SlotEnd{{Slot: got[0].Slots[0].Slot, After: time.Second}}})
	}
	page := driven.ReapRequest{Limit: 100, Linger: time.Minute}
	for _, wait := range []time.Duration{time.Minute, 2 * time.Second, time.Minute + time.Millisecond} {
		if len(b.slots) != 50 {
			t.Fatalf("%d slots", len(b.slots))
		}
		b.pass(wait)
		if _, err := b.Reap(b.Context(), page); err != nil { // the first finds them kept, the second just freed
			t.Fatal(err)
		}
		if _, err := b.Expire(b.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.slots)+len(b.kept) != 0 {
		t.Errorf("%d slots are left, %d kept", len(b.slots), len(b.kept))
	}
}

// TestHolderSince: when a slot was taken does not change when it is held longer.
func TestHolderSince(t *testing.T) {
	b := open(t)
	b.declare([]string{"k"}, limited("k", "g", 1))
	j := b.running(nil)
	at := b.admit(j).Admitted[0].Slots[0].Slot
	b.pass(time.Hour)
	if err := b.Hold(b.Context(), []driven.Holding{{Ticket: j.Ticket(), Slot: at, For: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	held, err := b.Held(b.Context(), domain.Slot{}, 10)
	if err != nil || len(held) != 1 || !held[0].Since.Equal(start) || held[0].Left != time.Hour || held[0].Runner != "r1" {
		t.Errorf("%+v, %v", held, err)
	}
}

// TestDeclarationsOfOneCall: of two kinds that share a group the last one named
// says what it allows, and a kind that has none any more is left alone.
func TestDeclarationsOfOneCall(t *testing.T) {
	b := open(t)
	b.declare([]string{"gone"}, limited("gone", "g", 9))
	b.declare([]string{"gone"})
	b.declare([]string{"a", "b"}, limited("a", "g", 1), limited("b", "g", 2))
	all, err := b.Declared(b.Context(), "", 10)
	if err != nil || len(all) != 3 || all[0].N != 2 || all[1].N != 2 || all[2].N != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	stored := all[0].At
	b.pass(time.Hour)
	b.declare([]string{"a", "b"}, limited("a", "g", 2), limited("b", "g", 2))
	if all, err = b.Declared(b.Context(), "", 1); err != nil || len(all) != 1 || !all[0].At.Equal(stored) {
		t.Errorf("declared as before: %+v, %v; it was stored at %v", all, err, stored)
	}
}

// TestShutStoreHasNoBounds: every call says that the store was closed.
func TestShutStoreHasNoBounds(t *testing.T) {
	b := open(t)
	if err := b.backend.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for what, call := range map[string]func() error{
		"admit":        func() error { _, err := b.Admit(ctx, driven.AdmitRequest{}); return err },
		"hold":         func() error { return b.Hold(ctx, nil) },
		"wake":         func() error { _, err := b.Wake(ctx, nil); return err },
		"expire":       func() error { _, err := b.Expire(ctx, 1); return err },
		"reap":         func() error { _, err := b.Reap(ctx, driven.ReapRequest{}); return err },
		"declare":      func() error { return b.Declare(ctx, nil, nil) },
		"declared":     func() error { _, err := b.Declared(ctx, "", 1); return err },
		"loosen":       func() error { _, err := b.Loosen(ctx, driven.LoosenRequest{Limit: 1}); return err },
		"held":         func() error { _, err := b.Held(ctx, domain.Slot{}, 1); return err },
		"blocked keys": func() error { _, err := b.BlockedKeys(ctx, "", 1); return err },
		"chains":       func() error { _, err := b.Chains(ctx, "", 1); return err },
		"unchain":      func() error { _, err := b.Unchain(ctx, ""); return err },
	} {
		if err := call(); domain.CodeOf(err) != domain.Unavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
}
