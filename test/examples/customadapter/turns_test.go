package customadapter

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestRestartKeepsTurns opens the file again with a chain that a dead job blocks
// and one that waits: slots end with the process, places do not.
func TestRestartKeepsTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.log")
	s := reopen(t, path)
	for range 2 {
		if _, err := insert(t, s, func(n *domain.NewJob) { n.Turn, n.Keys, n.OnDead = domain.TurnChain, []string{"c"}, domain.Block }); err != nil {
			t.Fatal(err)
		}
	}
	claims, err := s.Claim(t.Context(), driven.ClaimRequest{Token: system.IDs().NewToken(), Runner: "r", Lease: time.Hour, Queue: "q", Kinds: []string{"k"}, N: 2})
	if err != nil || len(claims.Jobs) != 2 {
		t.Fatal(claims, err)
	}
	var req driven.AdmitRequest
	for _, j := range claims.Jobs {
		req.Wants = append(req.Wants, driven.Want{Ticket: j.Ticket(), Kind: "k", Turn: true})
	}
	if got, err := s.Admit(t.Context(), req); err != nil || len(got.Admitted) != 1 || len(got.Parked) != 1 {
		t.Fatal(got, err)
	}
	first := claims.Jobs[0]
	if _, err := s.Settle(t.Context(), []driven.Outcome{{Ticket: first.Ticket(), To: domain.Dead, Keep: domain.KeepForever, Turn: true}}); err != nil {
		t.Fatal(err)
	}
	before := jobs(t, s)

	s = reopen(t, path)
	if after := jobs(t, s); !reflect.DeepEqual(before, after) {
		t.Fatalf("before\n%+v\nafter\n%+v", before, after)
	}
	key := domain.TurnKey(domain.TurnChain, "", "c")
	if got, err := s.Chains(t.Context(), "", 10); err != nil || !reflect.DeepEqual(got, []domain.Chain{{Key: key, Job: first.Job.ID}}) {
		t.Fatal(got, err)
	}
	if n, err := s.Unchain(t.Context(), key); err != nil || n.Dead != 1 {
		t.Fatal(n, err)
	}
	if got, err := s.Wake(t.Context(), []string{key}); err != nil || got.Jobs != 1 {
		t.Fatal(got, err)
	}
}
