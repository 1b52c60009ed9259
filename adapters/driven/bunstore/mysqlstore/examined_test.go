package mysqlstore

import (
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestExamined runs every call of the store on a big table and counts the rows
// that the engine was asked for: as many as the call is about, whatever lies
// before and behind them. Once as the table has just been filled, once after the
// server has looked at it.
func TestExamined(t *testing.T) {
	scale := 10
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		scale = 1
	}
	onEach(t, func(t *testing.T, dsn string) {
		s, e, _ := installed(t, dsn)
		x := &examiner{T: t, s: s, db: e.db}
		e.db.SetMaxOpenConns(1) // whose counters are read
		x.fill(scale)
		x.examine()
		x.exec("ANALYZE TABLE rowlock_jobs")
		x.examine()
		x.looks()
	})
}

type examiner struct {
	*testing.T
	s      *bunstore.Store
	db     *sql.DB
	reaped domain.Slot // the last one that a sweep of slots saw
}

func (x *examiner) exec(text string) {
	x.Helper()
	if _, err := x.db.ExecContext(x.Context(), text); err != nil {
		x.Fatal(err)
	}
}

// fill makes, at full scale, 200,000 due rows of 20 kinds, 200,000 scheduled,
// 200,000 done, some running, and 100,000 due rows of a foreign kind before all.
func (x *examiner) fill(scale int) {
	x.Helper()
	next := 0
	row := func(n int, exprs string) {
		n /= scale
		// The digits of three cross joins are as many rows as are wanted.
		text := "INSERT INTO rowlock_jobs (id, state, queue, kind, priority, run_at, due_at, wake_at, created_at, token, runner, args, tenant, unique_lock)" +
			" SELECT UNHEX(LPAD(HEX(x.i + %d), 32, '0')), %s FROM (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 100000 * f.n AS i" +
			" FROM d AS a, d AS b, d AS c, d AS d, d AS e, d AS f) AS x WHERE x.i < %d"
		x.exec(fmt.Sprintf(text, next, exprs, n))
		next += n
	}
	x.exec("CREATE TABLE d (n INT PRIMARY KEY)")
	x.exec("INSERT INTO d VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
	row(100_000, "0, 'q', 'foreign', -1, 1, 1, 0, 1, '', '', '{}', '', NULL")
	row(200_000, "0, 'q', CONCAT('k', x.i % 20), 0, x.i, 1, 0, 1, '', '', '{}', IF(x.i % 10 = 0, 't', ''), CONCAT('lock', x.i)")
	row(200_000, "1, 'q', CONCAT('k', x.i % 20), 0, 9000000000000 + x.i, 1, 9000000000000 + x.i, 1, '', '', '{}', '', NULL")
	row(200_000, "4, 'q', CONCAT('k', x.i % 20), 0, x.i, 1, 9000000000000 + x.i, 1, '', 'r', '{}', '', NULL")
	row(20_000, "3, 'q', CONCAT('k', x.i % 20), 0, x.i, 1, 9000000000000 + x.i, 1, UNHEX(LPAD(HEX(x.i + 7), 32, 'a')), 'other', '{}', '', NULL")
}

// judge makes a call and counts.
func (x *examiner) judge(what string, most int, call func() error) {
	x.Helper()
	counters(x.T, x.db) // what counting itself counts
	before := counters(x.T, x.db)
	own := counters(x.T, x.db) - before
	before = counters(x.T, x.db)
	if err := call(); err != nil {
		x.Fatalf("%s: %v", what, err)
	}
	n := counters(x.T, x.db) - before - own
	x.Logf("%-28s %6d reads", what, n)
	if n > most {
		x.Errorf("%s asked for %d rows, more than %d", what, n, most)
	}
}

const batch = 100

// examine makes every call of a runner once.
func (x *examiner) examine() {
	ctx, s := x.Context(), x.s
	claim := func(names ...string) (jobs []driven.Claimed) {
		x.Helper()
		got, err := s.Claim(ctx, asking(names, batch))
		if err != nil || len(got.Jobs) != batch {
			x.Fatalf("claimed %d jobs: %v", len(got.Jobs), err)
		}
		return got.Jobs
	}
	var jobs, more []driven.Claimed
	x.judge("claim one kind", 9*batch, func() error { jobs = claim("k3"); return nil })
	x.judge("claim 20 kinds", 16*batch, func() error { more = claim(kinds(20)...); return nil })
	x.judge("claim again, kinds learnt", 16*batch, func() error { claim(kinds(20)...); return nil })
	renewals := make([]driven.Renewal, batch)
	outcomes, failures := make([]driven.Outcome, batch), make([]driven.Outcome, batch)
	for i := range jobs {
		renewals[i].Ticket = jobs[i].Ticket()
		outcomes[i] = driven.Outcome{Ticket: jobs[i].Ticket(), To: domain.Done, Counts: true, Keep: time.Millisecond}
		failures[i] = driven.Outcome{Ticket: more[i].Ticket(), To: domain.Scheduled, Counts: true, Error: "no", After: time.Millisecond}
	}
	x.judge("renew", 6*batch, func() error {
		_, err := s.Renew(ctx, driven.RenewRequest{Tickets: renewals, Lease: time.Hour})
		return err
	})
	x.judge("settle done", 6*batch, func() error { _, err := s.Settle(ctx, outcomes); return err })
	x.judge("settle again", 10*batch, func() error { _, err := s.Settle(ctx, outcomes); return err })
	x.judge("settle failures", 6*batch, func() error { _, err := s.Settle(ctx, failures); return err })
	x.judge("claim with promotion", 20*batch, func() error { claim("k4"); return nil })
	x.judge("queues", 40, func() error { _, err := s.Queues(ctx, "", 10); return err })
	x.upkeep()
	x.doors()
	x.holders()
	x.deaths()
}

func (x *examiner) upkeep() {
	ctx, s := x.Context(), x.s
	x.exec("UPDATE rowlock_jobs FORCE INDEX (wake) SET wake_at = 1 WHERE state = 3 AND runner = 'other' LIMIT 100")
	x.judge("recover", 10*batch, func() error {
		got, err := s.Recover(ctx, driven.RecoverRequest{Limit: batch, Stalls: domain.DefaultStalls(), Except: "r"})
		if len(got.Jobs) != batch {
			x.Errorf("recovered %d", len(got.Jobs))
		}
		return err
	})
	x.judge("prune", 10*batch, func() error {
		got, err := s.Prune(ctx, driven.PruneRequest{Limit: 1000})
		if n := got.Removed; n != batch {
			x.Errorf("pruned %d", n)
		}
		return err
	})
}

func (x *examiner) doors() {
	ctx, s, ids := x.Context(), x.s, system.IDs()
	many := make([]domain.NewJob, 3*batch)
	for i := range many {
		many[i] = domain.NewJob{ID: ids.NewJobID(), Kind: "new", Queue: "q2", Args: []byte(`{}`)}
		if i%3 == 0 {
			many[i].Unique = &domain.Unique{Key: ids.NewJobID().String()}
		}
	}
	x.judge("insert", 12*batch, func() error { _, err := s.Insert(ctx, many); return err })
	for i := range many {
		many[i].ID = ids.NewJobID()
	}
	x.judge("insert of held keys", 30*batch, func() error { _, err := s.Insert(ctx, many); return err })
	var last []domain.Job
	x.judge("list", 2*batch, func() (err error) { last, err = s.Jobs(ctx, domain.Filter{}, domain.Page{Size: batch}); return err })
	x.judge("get", 4, func() error { _, err := s.Job(ctx, last[0].ID, ""); return err })
	edit := driven.EditRequest{}
	for _, j := range last {
		edit.IDs = append(edit.IDs, j.ID)
	}
	x.judge("reschedule", 12*batch, func() error { _, err := s.Reschedule(ctx, edit); return err })
	x.judge("retry", 16*batch, func() error { _, err := s.Retry(ctx, edit); return err })
	x.judge("cancel", 12*batch, func() error { _, err := s.Cancel(ctx, edit); return err })
	x.judge("delete", 12*batch, func() error { _, err := s.Delete(ctx, edit); return err })
}

// looks are the calls of operators.
func (x *examiner) looks() {
	ctx, s, page := x.Context(), x.s, domain.Page{Size: batch}
	x.judge("stats", 200*batch, func() error { _, err := s.Stats(ctx, "", batch); return err })
	x.judge("stats of a tenant", 30*batch, func() error { _, err := s.Stats(ctx, "t", batch); return err })
	x.judge("list of a tenant", 4*batch, func() error { _, err := s.Jobs(ctx, domain.Filter{Tenant: "t"}, page); return err })
	x.judge("list of the dead", 4*batch, func() error {
		_, err := s.Jobs(ctx, domain.Filter{States: []domain.State{domain.Dead}}, page)
		return err
	})
}
