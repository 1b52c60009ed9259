package memstore

import (
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// keys are all that the actors' jobs may be bound by.
func (a *actor) keys() []string {
	all := []string{"l:g:", "l:g:a", "r:g:"}
	for _, key := range []string{"a", "b", "c"} {
		for _, tenant := range []string{"", "t"} {
			all = append(all, domain.TurnKey(domain.TurnMutex, tenant, key), domain.TurnKey(domain.TurnChain, tenant, key))
		}
	}
	return all
}

func (a *actor) slot() domain.Slot {
	all := a.keys()
	return domain.Slot{Key: all[rand.IntN(len(all))], Index: rand.IntN(2)}
}

// bind asks for the bounds of claims now and then, some of which are over.
func (a *actor) bind() error {
	var req driven.AdmitRequest
	last := a.claims[max(0, len(a.claims)-6):]
	for _, c := range last {
		req.Wants = append(req.Wants, driven.Want{
			Ticket: c.Ticket(), Kind: c.Job.Kind, Limit: true, Rate: rand.IntN(2) == 0, Turn: c.Job.Turn != domain.NoTurn, OwnLimit: c.Job.LimitKey,
		})
	}
	got, err := a.Admit(a.Context(), req)
	if err != nil {
		return err
	}
	_, err = a.Wake(a.Context(), got.Wake)
	return err
}

// move lets slots go on and end, and wakes.
func (a *actor) move() error {
	ctx := a.Context()
	if len(a.claims) > 0 {
		c := a.claims[rand.IntN(len(a.claims))]
		h := driven.Holding{Ticket: c.Ticket(), Slot: a.slot(), For: time.Duration(rand.IntN(2)) * time.Second, End: rand.IntN(2) == 0}
		if err := a.Hold(ctx, []driven.Holding{h}); err != nil {
			return err
		}
	}
	if _, err := a.Reap(ctx, driven.ReapRequest{After: a.slot(), Limit: 3, Linger: time.Second}); err != nil {
		return err
	}
	if _, err := a.Expire(ctx, 2); err != nil {
		return err
	}
	_, err := a.Wake(ctx, a.keys())
	return err
}

// redeclare changes what kinds have, and what follows from it.
func (a *actor) redeclare() error {
	ctx := a.Context()
	kinds := []string{"k", "k2"}[:1+rand.IntN(2)]
	var all []domain.Declaration
	for _, kind := range kinds {
		if rand.IntN(3) > 0 {
			all = append(all, domain.Declaration{Kind: kind, Sort: domain.BoundSort(rand.IntN(2)), Group: "g", N: 1 + rand.IntN(2), Window: time.Second})
		}
	}
	if err := a.Declare(ctx, kinds, all); err != nil {
		return err
	}
	if _, err := a.Loosen(ctx, driven.LoosenRequest{Limit: 2}); err != nil {
		return err
	}
	keys := a.keys()
	_, err := a.Unchain(ctx, keys[rand.IntN(len(keys))])
	return err
}
