package bunstore

import (
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Most outcomes are simply done: nothing of them differs but the id, the token,
// how long it ran and how long it stays. A row source of these alone is cheaper.

var doneCols = []Col{{"id", ColID}, {"token", ColID}, {"ran", ColInt}, {"keep", ColInt}}

// DoneText settles jobs that are simply done, from the row source $2 (DoneRows),
// under the guards of SettleText.
func DoneText(d *Dialect) string {
	now := d.Words.Now
	return d.Forms.Update(Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", doneCols),
		Where: "j.id = o.id AND j.token = o.token",
		Set: []Assign{
			{"state", "4"},
			{"token", "NULL"},
			{"settled", "o.token"},
			{"stuck", "0"},
			{"attempts", "j.attempts + 1"},
			{"stalls", "0"},
			{"wake_at", "CASE WHEN o.keep < 0 THEN 0 ELSE " + now + " + o.keep END"},
			{"finished_at", now},
			{"unique_lock", d.Words.Ended()},
			{"ran", "o.ran"},
			{"result", "''"},
			{"error", "''"},
			{"history", "''"},
		},
	})
}

// SimplyDone says whether DoneText is right for all of the outcomes.
func SimplyDone(outcomes []driven.Outcome) bool {
	for i := range outcomes {
		o := &outcomes[i]
		if o.To != domain.Done || !o.Counts || o.Snoozed || len(o.Result) > 0 || o.History != "" || o.ForgetArgs {
			return false
		}
	}
	return true
}

// DoneRows is the JSON text of outcomes, for DoneText.
func DoneRows(outcomes []driven.Outcome) string {
	a := NewArray(100 * len(outcomes))
	for i := range outcomes {
		o := &outcomes[i]
		a.Row().ID(o.Ticket.ID).ID(o.Ticket.Token).Int(o.Ran.Microseconds()).Int(KeepMS(o.Keep))
	}
	return a.String()
}
