package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// bench is a store on a pool of one connection whose page reads are counted.
type bench struct {
	*testing.T
	db   *sql.DB
	b    driven.Backend
	last uint64
}

func newBench(t *testing.T) *bench {
	db := migrated(t)
	b, err := FromDB(db, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return &bench{T: t, db: db, b: b}
}

// id makes ids that rise.
func (n *bench) id() (id domain.JobID) {
	n.last++
	binary.BigEndian.PutUint64(id[:8], n.last<<16|0x7000)
	id[8] = 0x80
	return id
}

func (n *bench) add(count int, kind string, set func(*domain.NewJob)) {
	n.Helper()
	jobs := make([]domain.NewJob, count)
	for i := range jobs {
		jobs[i] = domain.NewJob{ID: n.id(), Kind: kind, Queue: "q", Args: []byte(`{}`)}
		if set != nil {
			set(&jobs[i])
		}
	}
	if _, err := n.b.Store.Insert(n.Context(), jobs); err != nil {
		n.Fatal(err)
	}
}

// pages runs something and gives how many pages it looked at.
func (n *bench) pages(run func() error) int {
	n.Helper()
	before := n.counter()
	if err := run(); err != nil {
		n.Fatal(err)
	}
	return n.counter() - before
}

func (n *bench) counter() (pages int) {
	n.Helper()
	conn, err := n.db.Conn(n.Context())
	if err != nil {
		n.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	err = conn.Raw(func(c any) error {
		for _, op := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
			count, _, err := c.(sqlite.DBStatus).Status(op, false)
			if err != nil {
				return err
			}
			pages += count
		}
		return nil
	})
	if err != nil {
		n.Fatal(err)
	}
	return pages
}

func (n *bench) claim(batch int, kinds ...string) (driven.Claims, int) {
	n.Helper()
	var got driven.Claims
	pages := n.pages(func() (err error) {
		got, err = n.b.Store.Claim(n.Context(), driven.ClaimRequest{
			Token: domain.Token(n.id()), Runner: "r", Lease: time.Hour, Queue: "q", Kinds: kinds, N: batch,
		})
		return err
	})
	if len(got.Jobs) != batch {
		n.Fatalf("claimed %d of %d", len(got.Jobs), batch)
	}
	return got, pages
}

// TestExamined has each hot call look at the same few pages in an almost empty
// table and in one that is full of rows which do not concern it: 100,000 of a
// kind that nobody handles at the head of the queue, others scheduled, running,
// finished and kept.
func TestExamined(t *testing.T) {
	empty, full := newBench(t), newBench(t)
	full.fill()
	for _, n := range []*bench{empty, full} {
		n.add(1000, "k", nil)
		n.add(1000, "l", nil)
	}
	small, large := empty.measure(), full.measure()
	for call, pages := range small {
		t.Logf("%-10s %6d pages in a small table, %6d in a full one", call, pages, large[call])
		limit := 3*pages + 300 // a deeper tree, and no more
		if call == "stats" {
			limit = 2000 // a capped look at each state, the small table has few
		}
		if large[call] > limit {
			t.Errorf("%s examines %d pages in a full table, %d in a small one", call, large[call], pages)
		}
	}
}

// fill makes the rows that concern nobody.
func (n *bench) fill() {
	n.Helper()
	n.add(100_000, "foreign", func(j *domain.NewJob) { j.Priority = -1 })
	n.add(10_000, "k", func(j *domain.NewJob) { j.Due.After = time.Hour })
	for _, state := range []domain.State{domain.Running, domain.Done, domain.Dead} {
		n.add(5000, "past", nil)
		got, _ := n.claim(5000, "past")
		if state == domain.Running {
			continue
		}
		for i := range got.Jobs {
			got.Jobs[i].Job.State = state
		}
		n.settle(got.Jobs, state, domain.KeepForever)
		n.add(5000, "past", nil)
		got, _ = n.claim(5000, "past")
		n.settle(got.Jobs, state, time.Hour)
	}
}

func (n *bench) settle(jobs []driven.Claimed, to domain.State, keep time.Duration) {
	n.Helper()
	outs := make([]driven.Outcome, len(jobs))
	for i := range jobs {
		outs[i] = driven.Outcome{Ticket: jobs[i].Ticket(), To: to, Counts: true, Keep: keep}
	}
	if res, err := n.b.Store.Settle(n.Context(), outs); err != nil || len(res.Dropped) > 0 {
		n.Fatal(res, err)
	}
}

// measure counts the pages of each hot call.
func (n *bench) measure() map[string]int {
	n.Helper()
	ctx, store, pages := n.Context(), n.b.Store, map[string]int{}
	got, count := n.claim(100, "unknown", "k", "l")
	pages["claim"] = count
	outs := make([]driven.Outcome, 0, 100)
	renewals := make([]driven.Renewal, 0, 100)
	for i := range got.Jobs {
		renewals = append(renewals, driven.Renewal{Ticket: got.Jobs[i].Ticket()})
		outs = append(outs, driven.Outcome{Ticket: got.Jobs[i].Ticket(), To: domain.Done, Counts: true})
	}
	pages["renew"] = n.pages(func() error {
		_, err := store.Renew(ctx, driven.RenewRequest{Tickets: renewals, Lease: time.Hour})
		return err
	})
	pages["settle"] = n.pages(func() error { return settled(store.Settle(ctx, outs)) })
	pages["prune"] = n.pages(func() error { return expect(100)(pruned(store.Prune(ctx, driven.PruneRequest{Limit: 100}))) })
	n.lapsed(100)
	pages["recover"] = n.pages(func() error {
		res, err := store.Recover(ctx, driven.RecoverRequest{Limit: 100, Stalls: domain.DefaultStalls(), Except: "me"})
		return expect(100)(len(res.Jobs), err)
	})
	pages["queues"] = n.pages(func() error {
		names, err := store.Queues(ctx, "", 10)
		return expect(1)(len(names), err)
	})
	pages["stats"] = n.pages(func() error {
		_, err := store.Stats(ctx, "", 100)
		return err
	})
	pages["running"] = n.pages(func() error {
		_, _, err := store.Count(ctx, domain.Filter{States: []domain.State{domain.Running}}, 100)
		return err
	})
	pages["promote"] = n.promoted()
	pages["replace"] = n.replaced()
	pages["bury"] = n.buried()
	return pages
}

// lapsed makes claims whose lease ran out.
func (n *bench) lapsed(count int) {
	n.Helper()
	n.claim(count, "k")
	n.exec("UPDATE rowlock_jobs SET wake_at = 1 WHERE id IN (SELECT id FROM rowlock_jobs WHERE state = 3 AND kind = 'k' LIMIT ?)", count)
}

// promoted counts the pages of a claim that first has to make its rows ready.
func (n *bench) promoted() int {
	n.Helper()
	n.add(100, "late", func(j *domain.NewJob) { j.Due.After = time.Hour })
	n.exec("UPDATE rowlock_jobs SET wake_at = 1, run_at = 1 WHERE kind = ? AND state = 1", "late")
	_, pages := n.claim(100, "late")
	return pages
}

func (n *bench) exec(text string, args ...any) {
	n.Helper()
	if _, err := n.db.ExecContext(context.WithoutCancel(n.Context()), text, args...); err != nil {
		n.Fatal(err)
	}
}

func settled(res driven.Settled, err error) error {
	if err == nil && len(res.Dropped) > 0 {
		return fmt.Errorf("%d outcomes were dropped", len(res.Dropped))
	}
	return err
}

// expect checks a count.
func expect(want int) func(int, error) error {
	return func(got int, err error) error {
		if err == nil && got != want {
			return fmt.Errorf("got %d, want %d", got, want)
		}
		return err
	}
}

func pruned(got driven.Pruned, err error) (int, error) { return got.Removed, err }
