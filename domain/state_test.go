package domain_test

import (
	"slices"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

var acts = []domain.Act{
	domain.ActClaim, domain.ActSettle, domain.ActRecover, domain.ActPromote, domain.ActPark,
	domain.ActWake, domain.ActRetry, domain.ActCancel, domain.ActReschedule,
}

// The whole table of moves: what is not here is refused.
var moves = map[domain.Act]map[domain.State][]domain.State{
	domain.ActClaim:   {domain.Ready: {domain.Running}},
	domain.ActSettle:  {domain.Running: {domain.Ready, domain.Scheduled, domain.Done, domain.Dead, domain.Cancelled}},
	domain.ActRecover: {domain.Running: {domain.Scheduled, domain.Dead}},
	domain.ActPromote: {domain.Scheduled: {domain.Ready}},
	domain.ActPark:    {domain.Running: {domain.Blocked}},
	domain.ActWake:    {domain.Blocked: {domain.Ready}},
	domain.ActRetry: {
		domain.Ready: {domain.Ready, domain.Scheduled}, domain.Scheduled: {domain.Ready, domain.Scheduled},
		domain.Blocked: {domain.Ready, domain.Scheduled}, domain.Done: {domain.Ready, domain.Scheduled},
		domain.Dead: {domain.Ready, domain.Scheduled}, domain.Cancelled: {domain.Ready, domain.Scheduled},
	},
	domain.ActCancel: {
		domain.Ready: {domain.Cancelled}, domain.Scheduled: {domain.Cancelled}, domain.Blocked: {domain.Cancelled},
		domain.Running: {domain.Cancelled},
	},
	domain.ActReschedule: {
		domain.Ready: {domain.Ready, domain.Scheduled}, domain.Scheduled: {domain.Ready, domain.Scheduled},
		domain.Blocked: {domain.Ready, domain.Scheduled},
	},
}

func TestMoves(t *testing.T) {
	for _, act := range acts {
		for _, from := range domain.States() {
			for _, to := range domain.States() {
				want := slices.Contains(moves[act][from], to)
				if got := domain.CanMove(act, from, to); got != want {
					t.Errorf("act %d from %v to %v: %v, want %v", act, from, to, got, want)
				}
			}
		}
	}
	if unknown := acts[len(acts)-1] + 1; domain.CanMove(unknown, domain.Ready, domain.Running) {
		t.Error("an unknown act was allowed")
	}
}

func TestTerminalIsLeftByRetryAlone(t *testing.T) {
	for a := range 256 {
		for _, from := range []domain.State{domain.Done, domain.Dead, domain.Cancelled} {
			for to := range 256 {
				if domain.CanMove(domain.Act(a), from, domain.State(to)) && domain.Act(a) != domain.ActRetry {
					t.Fatalf("act %d leaves %v for %v", a, from, domain.State(to))
				}
			}
		}
	}
}

func TestStateNumbersAreStored(t *testing.T) {
	names := []string{"ready", "scheduled", "blocked", "running", "done", "dead", "cancelled"}
	all := domain.States()
	if len(all) != len(names) {
		t.Fatalf("there are %d states, want %d", len(all), len(names))
	}
	for i, name := range names {
		s := all[i]
		text, err := s.MarshalText()
		if int(s) != i || s.String() != name || string(text) != name || err != nil {
			t.Errorf("state %d is %v, want %s", i, s, name)
		}
		if back, err := domain.ParseState(name); err != nil || back != s {
			t.Errorf("ParseState(%q) = %v, %v", name, back, err)
		}
		if s.Pending() != (i <= 2) || s.Terminal() != (i >= 4) {
			t.Errorf("%v: pending %v, terminal %v", s, s.Pending(), s.Terminal())
		}
	}
	if s := domain.State(7); s.String() != "unknown" || s.Terminal() || s.Pending() {
		t.Errorf("state 7 is %v, terminal %v, pending %v", s, s.Terminal(), s.Pending())
	}
}

func TestParseStateNamesTheStates(t *testing.T) {
	for _, name := range []string{"", "READY", "ready ", "failed", "unknown"} {
		_, err := domain.ParseState(name)
		wantFault(t, err, domain.Invalid, name, "ready, scheduled, blocked, running, done, dead, cancelled")
	}
}

func TestEventNames(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range domain.EventTypes() {
		if name := e.String(); name == "" || name == "unknown" || seen[name] {
			t.Errorf("event %d is named %q", e, name)
		}
		seen[e.String()] = true
	}
	if last := domain.EventTypes()[len(seen)-1]; last != domain.EventError {
		t.Errorf("the last event is %v", last)
	}
	if name := (domain.EventError + 1).String(); name != "unknown" {
		t.Errorf("an event beyond the last is named %q", name)
	}
}
