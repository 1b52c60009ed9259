package sqlitestore

import (
	"context"
	"encoding/hex"
	"strconv"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// doneText settles jobs that are simply done: $2 is a JSON object of id (hex) to
// microseconds, $3 their token, $4 how long they stay. Almost every outcome is
// such a one, and this costs 6.5 us a job, where the row source of all columns
// takes 19 and a prepared statement for each row 8.2.
func doneText(d *bunstore.Dialect) string {
	return "UPDATE " + d.Table("jobs") + " AS j SET state = 4, token = NULL, settled = $3, stuck = 0, attempts = j.attempts + 1, stalls = 0," +
		" wake_at = CASE WHEN $4 < 0 THEN 0 ELSE " + now + " + $4 END, finished_at = " + now +
		", unique_lock = " + d.Words.Ended() + ", ran = o.ran, result = '', error = '', history = ''" +
		" FROM (SELECT unhex(key) AS id, value AS ran FROM json_each($2)) AS o WHERE j.id = o.id AND j.token = $3"
}

// settler is the settle of one table.
type settler struct{ done, any bunstore.Stmt }

// group is what one run of doneText may settle together.
type group struct {
	token domain.Token
	keep  int64
}

func (s *settler) Settle(ctx context.Context, c bunstore.Conn, now any, outcomes []driven.Outcome) (int, error) {
	simple := map[group][]byte{}
	var order []group
	var rest []driven.Outcome
	for i := range outcomes {
		o := &outcomes[i]
		if !simplyDone(o) {
			rest = append(rest, *o)
			continue
		}
		g := group{o.Ticket.Token, bunstore.KeepMS(o.Keep)}
		if simple[g] == nil {
			order = append(order, g)
		}
		simple[g] = appendDone(simple[g], o)
	}
	total := 0
	for _, g := range order {
		n, err := exec(ctx, c, s.done, now, string(append(simple[g], '}')), g.token[:], g.keep)
		if err != nil {
			return 0, err
		}
		total += n
	}
	if len(rest) == 0 {
		return total, nil
	}
	n, err := exec(ctx, c, s.any, now, bunstore.OutcomeRows(rest))
	return total + n, err
}

func simplyDone(o *driven.Outcome) bool {
	return o.To == domain.Done && o.Counts && !o.Snoozed && len(o.Result) == 0 && o.History == "" && !o.ForgetArgs
}

func appendDone(b []byte, o *driven.Outcome) []byte {
	if b == nil {
		b = append(make([]byte, 0, 1024), '{', '"')
	} else {
		b = append(b, ',', '"')
	}
	b = hex.AppendEncode(b, o.Ticket.ID[:])
	b = append(b, '"', ':')
	return strconv.AppendInt(b, o.Ran.Microseconds(), 10)
}

func exec(ctx context.Context, c bunstore.Conn, st bunstore.Stmt, values ...any) (int, error) {
	res, err := c.ExecContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}
