package mssqlstore

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/ports/driven"
)

// settler settles a batch by one statement, so that autocommit is enough.
type settler struct{ done, any bunstore.Stmt }

func newSettler(d *bunstore.Dialect) *settler {
	return &settler{done: d.Marks.Compile(bunstore.DoneText(d)), any: d.Marks.Compile(bunstore.SettleText(d))}
}

// Settle goes by the ids in their order: calls that meet then wait for each other
// and rarely deadlock.
func (s *settler) Settle(ctx context.Context, c bunstore.Conn, now any, outcomes []driven.Outcome) (int, error) {
	sorted := slices.Clone(outcomes)
	slices.SortFunc(sorted, func(a, b driven.Outcome) int { return a.Ticket.ID.Compare(b.Ticket.ID) })
	if bunstore.SimplyDone(sorted) {
		return exec(ctx, c, s.done, now, bunstore.DoneRows(sorted))
	}
	return exec(ctx, c, s.any, now, bunstore.OutcomeRows(sorted))
}
