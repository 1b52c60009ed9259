package sqlitestore

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestBoundsExamined has each call of bounds look at the same few pages beside a
// limit that 100,000 jobs wait for, a key that 100,000 jobs had their turn at,
// 10,000 keys with somebody at each, and 10,000 slots that are kept for a while.
func TestBoundsExamined(t *testing.T) {
	empty, full := newBench(t), newBench(t)
	full.crowd()
	small, large := empty.measureBounds(), full.measureBounds()
	for call, pages := range small {
		t.Logf("%-10s %6d pages in a small table, %6d in a full one", call, pages, large[call])
		if limit := 6*pages + 1000; large[call] > limit { // deeper trees, for each of 100 rows, and no more
			t.Errorf("%s examines %d pages in a full table, %d in a small one", call, large[call], pages)
		}
	}
	full.wakeMany()
}

// crowd makes the rows that concern nobody, and those that wait.
func (n *bench) crowd() {
	n.Helper()
	n.exec("CREATE TEMP TABLE many AS WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000)" +
		" SELECT i, CAST(printf('%016d', i) AS BLOB) AS id FROM c")
	const job = "INSERT INTO rowlock_jobs (queue, priority, run_at, due_at, wake_at, created_at, args, state, id, kind, blocked_on)" +
		" SELECT 'q', 0, i, i, 0, i, '{}', 2, "
	n.exec(job + "id, 'crowd', 'l:busy:' FROM many")
	n.exec("INSERT INTO rowlock_job_keys SELECT id, 'm0:old', NULL, NULL FROM many")
	n.exec(job+"CAST('e' || substr(id, 2) AS BLOB), 'each', 'c0:each' || i FROM many WHERE i <= ?", manyKeys)
	n.exec("INSERT INTO rowlock_job_keys SELECT id, blocked_on, due_at, NULL FROM rowlock_jobs WHERE kind = 'each'")
	n.exec("INSERT INTO rowlock_slots SELECT blocked_on, 0, id, id, 0, 0 FROM rowlock_jobs WHERE kind = 'each'")
	n.exec("INSERT INTO rowlock_slots SELECT 'r' || bound, 0, NULL, NULL, 9000000000000, 0 FROM rowlock_slots")
}

const manyKeys = 10_000

// wakeMany has a Wake look at a few pages for each of many keys, and write nothing
// where nobody may start.
func (n *bench) wakeMany() {
	n.Helper()
	keys := make([]string, manyKeys)
	for i := range keys {
		keys[i] = fmt.Sprint("c0:each", i+1)
	}
	before := n.changes()
	if pages := n.woken(0, keys...); pages > 10*len(keys) {
		n.Errorf("a wake of %d keys that are taken examined %d pages", len(keys), pages)
	}
	if after := n.changes(); after != before {
		n.Errorf("a wake that wakes nobody changed %d rows", after-before)
	}
	n.exec("DELETE FROM rowlock_slots")
	if pages := n.woken(len(keys), keys...); pages > 60*len(keys) {
		n.Errorf("a wake of %d keys that are free examined %d pages", len(keys), pages)
	}
}

// measureBounds counts the pages of each call.
func (n *bench) measureBounds() map[string]int {
	n.Helper()
	ctx, store, pages := n.Context(), n.b.Store, map[string]int{}
	if err := store.Declare(ctx, []string{"k", "crowd"}, []domain.Declaration{
		{Kind: "k", Sort: domain.BoundLimit, Group: "k", N: 100}, {Kind: "crowd", Sort: domain.BoundLimit, Group: "busy", N: 1},
	}); err != nil {
		n.Fatal(err)
	}
	pages["insert"] = n.pages(func() error { n.add(100, "k", oldTurn); return nil })
	pages["chain"] = n.pages(func() error { n.add(100, "l", ownTurns()); return nil })
	got, _ := n.claim(100, "k")
	pages["admit one"] = n.admit(got.Jobs, 1)
	got, _ = n.claim(100, "l")
	pages["admit"] = n.admit(got.Jobs, 100)
	pages["settle"] = n.pages(func() error { return settled(store.Settle(ctx, ending(got.Jobs))) })
	pages["old"] = n.woken(0, "m0:old") // its slot is taken
	n.exec("UPDATE rowlock_slots SET token = NULL WHERE bound = 'm0:old'")
	n.exec("UPDATE rowlock_jobs SET state = 2, blocked_on = 'm0:old', token = NULL WHERE kind = 'k'")
	pages["old turn"] = n.woken(1, "m0:old")
	if n.count("crowd") == 0 {
		n.add(1, "crowd", nil)
		n.exec("UPDATE rowlock_jobs SET state = 2, blocked_on = 'l:busy:' WHERE kind = 'crowd'")
	}
	pages["crowd"] = n.woken(1, "l:busy:")
	n.exec("INSERT INTO rowlock_slots VALUES ('r:k:', 0, NULL, NULL, 1, 0)")
	pages["expire"] = n.pages(func() error { return expect(1)(keysOf(store.Expire(ctx, 100))) })
	pages["reap"] = n.pages(func() error {
		got, err := store.Reap(ctx, driven.ReapRequest{Limit: 1, After: domain.Slot{Key: "m", Index: 0}})
		return expect(0)(got.Orphans, err)
	})
	pages["keys"] = n.pages(func() error {
		keys, err := store.BlockedKeys(ctx, "l", 2)
		return expect(1)(min(len(keys), 1), err)
	})
	pages["chains"] = n.pages(func() error {
		chains, err := store.Chains(ctx, "", 10)
		return expect(0)(len(chains), err)
	})
	return pages
}

// oldTurn and ownTurns give jobs their keys.
func oldTurn(j *domain.NewJob) { j.Turn, j.Keys = domain.TurnMutex, []string{"old"} }

func ownTurns() func(*domain.NewJob) {
	i := 0
	return func(j *domain.NewJob) {
		i++
		j.Turn, j.Keys = domain.TurnChain, []string{fmt.Sprint("own", i), fmt.Sprint("other", i)}
	}
}

// admit counts the pages of an Admit that so many pass.
func (n *bench) admit(jobs []driven.Claimed, pass int) int {
	n.Helper()
	wants := make([]driven.Want, len(jobs))
	for i := range jobs {
		wants[i] = driven.Want{Ticket: jobs[i].Ticket(), Kind: jobs[i].Job.Kind, Limit: true, Turn: true}
	}
	return n.pages(func() error {
		got, err := n.b.Store.Admit(n.Context(), driven.AdmitRequest{Wants: wants})
		return expect(pass)(len(got.Admitted), err)
	})
}

// ending are the outcomes of jobs of ownTurns.
func ending(jobs []driven.Claimed) []driven.Outcome {
	outs := make([]driven.Outcome, len(jobs))
	for i := range jobs {
		outs[i] = driven.Outcome{Ticket: jobs[i].Ticket(), To: domain.Done, Counts: true, Turn: true, Keep: time.Hour}
		for _, key := range []string{"own", "other"} {
			slot := domain.Slot{Key: fmt.Sprint("c0:", key, i+1)}
			outs[i].Slots = append(outs[i].Slots, domain.SlotEnd{Slot: slot})
		}
	}
	return outs
}

// woken counts the pages of a Wake that wakes so many.
func (n *bench) woken(jobs int, keys ...string) int {
	n.Helper()
	return n.pages(func() error {
		got, err := n.b.Store.Wake(n.Context(), keys)
		return expect(jobs)(got.Jobs, err)
	})
}

func (n *bench) count(kind string) int {
	n.Helper()
	count, _, err := n.b.Store.Count(n.Context(), domain.Filter{Kind: kind}, 1)
	if err != nil {
		n.Fatal(err)
	}
	return count
}

func keysOf(got driven.Expired, err error) (int, error) { return len(got.Keys), err }

// changes is how many rows were changed on the connection so far.
func (n *bench) changes() (rows int) {
	n.Helper()
	if err := n.db.QueryRowContext(n.Context(), "SELECT total_changes()").Scan(&rows); err != nil {
		n.Fatal(err)
	}
	return rows
}
