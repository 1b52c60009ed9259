package pgstore

import (
	"context"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// settler settles a batch by one statement, so that autocommit is enough.
type settler struct{ done, any bunstore.Stmt }

var doneCols = []bunstore.Col{
	{Name: "id", Type: bunstore.ColID}, {Name: "token", Type: bunstore.ColID},
	{Name: "ran", Type: bunstore.ColInt}, {Name: "keep", Type: bunstore.ColInt},
}

func newSettler(d *bunstore.Dialect) *settler {
	return &settler{done: d.Marks.Compile(doneText(d)), any: d.Marks.Compile(bunstore.SettleText(d))}
}

// doneText settles jobs that are simply done, as most are: 8.7 us a row where the
// row source of all columns takes 10.8. Guarded by id and token alone: a state
// beside the ids takes the planner to the wrong index.
func doneText(d *bunstore.Dialect) string {
	return d.Forms.Update(bunstore.Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", doneCols),
		Where: "j.id = o.id AND j.token = o.token",
		Set: []bunstore.Assign{
			{Col: "state", Expr: "4"},
			{Col: "token", Expr: "NULL"},
			{Col: "settled", Expr: "o.token"},
			{Col: "stuck", Expr: "0"},
			{Col: "attempts", Expr: "j.attempts + 1"},
			{Col: "stalls", Expr: "0"},
			{Col: "wake_at", Expr: "CASE WHEN o.keep < 0 THEN 0 ELSE " + now + " + o.keep END"},
			{Col: "finished_at", Expr: now},
			{Col: "unique_lock", Expr: "NULL"},
			{Col: "ran", Expr: "o.ran"},
			{Col: "result", Expr: "''"},
			{Col: "error", Expr: "''"},
			{Col: "history", Expr: "''"},
		},
	})
}

func (s *settler) Settle(ctx context.Context, c bunstore.Conn, now any, outcomes []driven.Outcome) (int, error) {
	st, text := s.any, ""
	if simplyDone(outcomes) {
		st, text = s.done, doneRows(outcomes)
	} else {
		text = bunstore.OutcomeRows(outcomes)
	}
	return exec(ctx, c, st, now, text)
}

func simplyDone(outcomes []driven.Outcome) bool {
	for i := range outcomes {
		o := &outcomes[i]
		if o.To != domain.Done || !o.Counts || o.Snoozed || len(o.Result) > 0 || o.History != "" || o.ForgetArgs {
			return false
		}
	}
	return true
}

func doneRows(outcomes []driven.Outcome) string {
	a := bunstore.NewArray(100 * len(outcomes))
	for i := range outcomes {
		o := &outcomes[i]
		a.Row().ID(o.Ticket.ID).ID(o.Ticket.Token).Int(o.Ran.Microseconds()).Int(bunstore.KeepMS(o.Keep))
	}
	return a.String()
}

func exec(ctx context.Context, c bunstore.Conn, st bunstore.Stmt, values ...any) (int, error) {
	res, err := c.ExecContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}
