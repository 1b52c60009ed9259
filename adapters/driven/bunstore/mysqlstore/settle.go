package mysqlstore

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

// Settle writes outcomes, which come sorted by their ids.
func (s *settler) Settle(ctx context.Context, c bunstore.Conn, now any, outcomes []driven.Outcome) (int, error) {
	if bunstore.SimplyDone(outcomes) {
		return exec(ctx, c, s.done, now, bunstore.DoneRows(outcomes))
	}
	return exec(ctx, c, s.any, now, bunstore.OutcomeRows(outcomes))
}

func exec(ctx context.Context, c bunstore.Conn, st bunstore.Stmt, values ...any) (int, error) {
	res, err := c.ExecContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}
