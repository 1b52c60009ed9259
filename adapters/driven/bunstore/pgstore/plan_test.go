package pgstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
)

// TestPlans runs every call of the store on a big table and asks the server how
// it went about each statement: by an index, and over no more rows than the call
// is about, whatever lies before and behind them. Once without statistics, as on
// a table that has just been filled, once with.
func TestPlans(t *testing.T) {
	scale := 10
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		scale = 1
	}
	dsn := servers.Postgres(t)
	db := servers.Open(t, dsn)
	cfg, err := Config{}.check()
	if err != nil {
		t.Fatal(err)
	}
	x := &explainer{engine: newEngine(db, cfg, false), t: t}
	s := bunstore.New(newDialect(db, cfg), x, nil)
	if _, err := s.Migrator().Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	fill(t, db, scale)
	t.Run("no statistics", func(t *testing.T) { x.plans(t, s) })
	if _, err := db.ExecContext(t.Context(), "VACUUM ANALYZE rowlock_jobs"); err != nil {
		t.Fatal(err)
	}
	t.Run("statistics", func(t *testing.T) {
		x.plans(t, s)
		x.plansOfLooks(t, s)
	})
}

// fill makes, at full scale, 200,000 due rows of 20 kinds, 200,000 scheduled,
// 200,000 done, some running, and 100,000 due rows of a foreign kind before all.
func fill(t *testing.T, db *sql.DB, scale int) {
	t.Helper()
	row := func(n int, cols string) string {
		return fmt.Sprintf("INSERT INTO rowlock_jobs (id, state, queue, kind, priority, run_at, due_at, wake_at, created_at, token, runner, args, tenant, unique_lock)"+
			" SELECT gen_random_uuid(), %s FROM generate_series(1, %d) AS i", cols, n/scale)
	}
	for _, text := range []string{
		"ALTER TABLE rowlock_jobs SET (autovacuum_enabled = false)",
		row(100_000, "0, 'q', 'foreign', -1, 1, 1, 0, 1, NULL, '', '{}', '', NULL"),
		row(200_000, "0, 'q', 'k' || i % 20, 0, i, 1, 0, 1, NULL, '', '{}', CASE WHEN i % 10 = 0 THEN 't' ELSE '' END, 'lock' || i"),
		row(200_000, "1, 'q', 'k' || i % 20, 0, 9e12 + i, 1, 9e12 + i, 1, NULL, '', '{}', '', NULL"),
		row(200_000, "4, 'q', 'k' || i % 20, 0, i, 1, 9e12 + i, 1, NULL, 'r', '{}', '', NULL"),
		row(20_000, "3, 'q', 'k' || i % 20, 0, i, 1, 9e12 + i, 1, gen_random_uuid(), 'other', '{}', '', NULL"),
	} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// batch is the size of every call here. A bitmap scan counts the entries of an index
// that lead to a row's earlier versions too: one for each write since it was vacuumed.
// So a row that was claimed may count 1 + 2, one that was renewed since 1 + 3.
const batch = 100

// plans makes every call once and judges its statements.
func (x *explainer) plans(t *testing.T, s *bunstore.Store) {
	x.t = t
	ctx, ids := t.Context(), system.IDs()
	kinds := make([]string, 20)
	for i := range kinds {
		kinds[i] = fmt.Sprint("k", i)
	}
	claim := func(kinds ...string) []driven.Claimed {
		t.Helper()
		got, err := s.Claim(ctx, driven.ClaimRequest{Token: ids.NewToken(), Runner: "r", Lease: time.Hour, Queue: "q", Kinds: kinds, N: batch})
		if err != nil || len(got.Jobs) != batch {
			t.Fatalf("claimed %d jobs: %v", len(got.Jobs), err)
		}
		return got.Jobs
	}
	var jobs, more []driven.Claimed
	x.judge("claim one kind", 2*batch+1, func() error { jobs = claim("k3"); return nil })
	x.judge("claim 20 kinds", 8*batch, func() error { more = claim(kinds...); return nil })
	x.judge("claim again, the kinds learnt", 8*batch, func() error { claim(kinds...); return nil })
	renewals := make([]driven.Renewal, len(jobs))
	outcomes, failures := make([]driven.Outcome, len(jobs)), make([]driven.Outcome, len(jobs))
	for i := range jobs {
		renewals[i].Ticket = jobs[i].Ticket()
		outcomes[i] = driven.Outcome{Ticket: jobs[i].Ticket(), To: domain.Done, Counts: true, Keep: time.Millisecond}
		failures[i] = driven.Outcome{Ticket: more[i].Ticket(), To: domain.Scheduled, Counts: true, Error: "no", After: time.Millisecond}
	}
	x.judge("renew", 3*batch, func() error {
		_, err := s.Renew(ctx, driven.RenewRequest{Tickets: renewals, Lease: time.Hour})
		return err
	})
	x.judge("settle done", 4*batch, func() error { _, err := s.Settle(ctx, outcomes); return err })
	x.judge("settle again", 6*batch, func() error { _, err := s.Settle(ctx, outcomes); return err })
	x.judge("settle failures", 3*batch, func() error { _, err := s.Settle(ctx, failures); return err })
	x.judge("claim with promotion", 6*batch, func() error { claim("k4"); return nil })
	x.plansOfUpkeep(t, s)
	x.plansOfDoors(t, s)
	x.plansOfHolders(t, s)
	x.plansOfFailures(t, s)
}

func (x *explainer) plansOfUpkeep(t *testing.T, s *bunstore.Store) {
	ctx := t.Context()
	if _, err := x.db.ExecContext(ctx, "UPDATE rowlock_jobs SET wake_at = 1 WHERE id IN (SELECT id FROM rowlock_jobs WHERE state = 3 AND runner = 'other' LIMIT 100)"); err != nil {
		t.Fatal(err)
	}
	x.judge("recover", 4*batch, func() error {
		got, err := s.Recover(ctx, driven.RecoverRequest{Limit: batch, Stalls: domain.DefaultStalls(), Except: "r"})
		if len(got.Jobs) != batch {
			t.Errorf("recovered %d", len(got.Jobs))
		}
		return err
	})
	x.judge("prune", 4*batch, func() error {
		got, err := s.Prune(ctx, driven.PruneRequest{Limit: 1000})
		if n := got.Removed; n != batch {
			t.Errorf("pruned %d", n)
		}
		return err
	})
	x.judge("queues", 20, func() error { _, err := s.Queues(ctx, "", 10); return err })
}

func (x *explainer) plansOfDoors(t *testing.T, s *bunstore.Store) {
	ctx, ids := t.Context(), system.IDs()
	many := make([]domain.NewJob, 3*batch)
	for i := range many {
		many[i] = domain.NewJob{ID: ids.NewJobID(), Kind: "new", Queue: "q2", Args: []byte(`{}`)}
		if i%3 == 0 {
			many[i].Unique = &domain.Unique{Key: fmt.Sprint("u", i%2, i)}
		}
	}
	x.judge("insert", 9*batch, func() error { _, err := s.Insert(ctx, many); return err })
	for i := range many {
		many[i].ID = ids.NewJobID()
	}
	x.judge("insert of held keys", 12*batch, func() error { _, err := s.Insert(ctx, many[:1]); return err })
	page := domain.Page{Size: batch}
	var last []domain.Job
	x.judge("list", 2*batch, func() (err error) { last, err = s.Jobs(ctx, domain.Filter{}, page); return err })
	x.judge("get", 2, func() error { _, err := s.Job(ctx, last[0].ID, ""); return err })
	edit := driven.EditRequest{}
	for _, j := range last {
		edit.IDs = append(edit.IDs, j.ID)
	}
	x.judge("reschedule", 6*batch, func() error { _, err := s.Reschedule(ctx, edit); return err })
	x.judge("retry", 8*batch, func() error { _, err := s.Retry(ctx, edit); return err })
	x.judge("cancel", 6*batch, func() error { _, err := s.Cancel(ctx, edit); return err })
	x.judge("delete", 6*batch, func() error { _, err := s.Delete(ctx, edit); return err })
}

// plansOfLooks are the calls of operators. Of a tenant with few rows among many
// the planner expects even fewer and may read them all.
func (x *explainer) plansOfLooks(t *testing.T, s *bunstore.Store) {
	ctx, page := t.Context(), domain.Page{Size: batch}
	x.judge("stats", 100*batch, func() error { _, err := s.Stats(ctx, "", batch); return err })
	x.judge("stats of a tenant", 410*batch, func() error { _, err := s.Stats(ctx, "t", batch); return err })
	x.judge("list of a tenant", 410*batch, func() error { _, err := s.Jobs(ctx, domain.Filter{Tenant: "t"}, page); return err })
	x.judge("list of the dead", 2*batch, func() error {
		_, err := s.Jobs(ctx, domain.Filter{States: []domain.State{domain.Dead}}, page)
		return err
	})
}

// explainer is an engine that has every statement explained before it runs.
type explainer struct {
	*engine
	t    *testing.T
	seen []plan
}

type plan struct {
	text string
	top  node
}

// node is a part of what EXPLAIN tells of a plan.
type node struct {
	Type      string  `json:"Node Type"`
	Table     string  `json:"Relation Name"`
	Index     string  `json:"Index Name"`
	Rows      float64 `json:"Actual Rows"`
	Loops     float64 `json:"Actual Loops"`
	Filtered  float64 `json:"Rows Removed by Filter"`
	Rechecked float64 `json:"Rows Removed by Index Recheck"`
	Hit       float64 `json:"Shared Hit Blocks"`
	Read      float64 `json:"Shared Read Blocks"`
	Plans     []node  `json:"Plans"`
}

// large are the tables that no call walks over.
var large = map[string]bool{"rowlock_jobs": true, "rowlock_slots": true, "rowlock_job_keys": true, "rowlock_batches": true, "rowlock_schedules": true}

// examined sums the rows of these that the plan looked at, and notes how.
func (n *node) examined(how map[string]float64) {
	if large[n.Table] && n.Type != "ModifyTable" && n.Type != "Insert" {
		how[strings.TrimSpace(n.Type+" "+n.Index)] += (n.Rows + n.Filtered + n.Rechecked) * n.Loops
	}
	if n.Index != "" && n.Table == "" { // a bitmap's own index
		how[n.Type+" "+n.Index] += n.Rows * n.Loops
	}
	for i := range n.Plans {
		n.Plans[i].examined(how)
	}
}

func (x *explainer) One(ctx context.Context, w bunstore.Work) error  { return x.Write(ctx, w) }
func (x *explainer) Read(ctx context.Context, w bunstore.Work) error { return x.Write(ctx, w) }
func (x *explainer) Write(ctx context.Context, w bunstore.Work) error {
	return x.engine.Write(ctx, func(ctx context.Context, c bunstore.Conn) error { return w(ctx, &explained{c, x}) })
}

type explained struct {
	bunstore.Conn
	x *explainer
}

func (e *explained) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	e.explain(ctx, text, args)
	return e.Conn.ExecContext(ctx, text, args...)
}

func (e *explained) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	e.explain(ctx, text, args)
	return e.Conn.QueryContext(ctx, text, args...)
}

// explain runs the statement once more than asked for and takes that back.
func (e *explained) explain(ctx context.Context, text string, args []any) {
	e.exec(ctx, "SAVEPOINT explained")
	rows, err := e.Conn.QueryContext(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+text, args...)
	if err != nil {
		e.x.t.Fatalf("%v: %s", err, text)
	}
	var out string
	if err := bunstore.Drain(rows, func(rows *sql.Rows) error { return rows.Scan(&out) }); err != nil {
		e.x.t.Fatalf("%v: %s", err, text)
	}
	e.exec(ctx, "ROLLBACK TO SAVEPOINT explained")
	var tops []struct{ Plan node }
	if err := json.Unmarshal([]byte(out), &tops); err != nil {
		e.x.t.Fatal(err)
	}
	e.x.seen = append(e.x.seen, plan{text, tops[0].Plan})
}

func (e *explained) exec(ctx context.Context, text string) {
	if _, err := e.Conn.ExecContext(ctx, text); err != nil {
		e.x.t.Fatal(err)
	}
}

// judge makes a call and checks each of its statements: no walk over the table,
// at most so many rows looked at in all.
func (x *explainer) judge(what string, most float64, call func() error) {
	x.t.Helper()
	x.seen = nil
	if err := call(); err != nil {
		x.t.Fatalf("%s: %v", what, err)
	}
	total, pages, ways := 0.0, 0.0, map[string]float64{}
	for _, p := range x.seen {
		how := map[string]float64{}
		p.top.examined(how)
		for way, n := range how {
			ways[way] += n
			total += n
			if strings.Contains(way, "Seq Scan") {
				x.t.Errorf("%s walks the table (%v): %s", what, how, p.text)
			}
		}
		pages += p.top.Hit + p.top.Read
	}
	x.t.Logf("%-32s %6.0f rows %6.0f pages %d statements %v", what, total, pages, len(x.seen), ways)
	if total > most {
		x.t.Errorf("%s looks at %.0f rows, more than %.0f: %v", what, total, most, ways)
	}
}
