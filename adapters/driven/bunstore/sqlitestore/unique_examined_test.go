package sqlitestore

import (
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// replaced counts the pages of an insert that changes who holds its keys.
func (n *bench) replaced() int {
	n.Helper()
	in := make([]domain.NewJob, 100)
	insert := func() error {
		for i := range in {
			in[i] = domain.NewJob{ID: n.id(), Kind: "unique", Queue: "q", Args: []byte(`{}`), Due: domain.Due{After: time.Hour}}
			in[i].Unique = &domain.Unique{Key: fmt.Sprint(i), OnConflict: domain.Replace}
		}
		got, err := n.b.Store.Insert(n.Context(), in)
		moved := 0
		for i := range got {
			moved += int(got[i].Result)
		}
		return expect(100*int(domain.Replaced))(moved, err)
	}
	_ = insert() // the first time the keys are free
	return n.pages(insert)
}

// buried counts the pages of deaths that a failure job goes with.
func (n *bench) buried() int {
	n.Helper()
	got, _ := n.claim(100, "k")
	outs := make([]driven.Outcome, len(got.Jobs))
	for i := range outs {
		outs[i] = driven.Outcome{Ticket: got.Jobs[i].Ticket(), To: domain.Dead, Keep: domain.KeepForever}
		outs[i].Failure = &domain.NewJob{ID: n.id(), Kind: "sorry", Queue: "q", Args: []byte(`{}`)}
	}
	return n.pages(func() error { return settled(n.b.Store.Settle(n.Context(), outs)) })
}
