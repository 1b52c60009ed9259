package mssqlstore

import (
	"context"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/ports/driven"
)

// settler settles a batch by one statement, so that autocommit is enough.
type settler struct{ done, any bunstore.Stmt }

func newSettler(d *bunstore.Dialect) *settler {
	return &settler{done: d.Marks.Compile(bunstore.DoneText(d)), any: d.Marks.Compile(bunstore.SettleText(d))}
}

// Settle takes them in the order of their ids, as they come.
func (s *settler) Settle(ctx context.Context, c bunstore.Conn, now any, outcomes []driven.Outcome) (int, error) {
	if bunstore.SimplyDone(outcomes) {
		return exec(ctx, c, s.done, now, bunstore.DoneRows(outcomes))
	}
	return exec(ctx, c, s.any, now, bunstore.OutcomeRows(outcomes))
}
