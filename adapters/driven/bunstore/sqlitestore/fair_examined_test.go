package sqlitestore

import (
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestFairExamined has a claim that serves tenants in turn look at the same few
// pages beside one tenant that 50,000 jobs wait for and 100,000 jobs of none.
func TestFairExamined(t *testing.T) {
	empty, full := newBench(t), newBench(t)
	full.exec("WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 150000)" +
		" INSERT INTO rowlock_jobs (id, queue, priority, run_at, due_at, wake_at, created_at, args, state, kind, tenant)" +
		" SELECT CAST(printf('%016d', i) AS BLOB), 'q', 0, i, i, 0, i, '{}', 0, 'k', CASE WHEN i % 3 = 0 THEN 'big' ELSE '' END FROM c")
	for name, kinds := range map[string][]string{"one kind": {"k"}, "some kinds": {"j", "k", "l"}, "another kind": {"l"}} {
		small, large := empty.fairly(kinds), full.fairly(kinds)
		t.Logf("%-12s %6d pages in a small table, %6d in a full one", name, small, large)
		if limit := 4*small + 1500; large > limit { // deeper trees, and a row for each that a tenant may have aside
			t.Errorf("%s: a claim examines %d pages in a full table, %d in a small one", name, large, small)
		}
	}
}

// fairly counts the pages of a claim of ten, in which a tenant has its only job.
func (n *bench) fairly(kinds []string) int {
	n.Helper()
	kind := kinds[len(kinds)-1]
	n.add(10, kind, func(j *domain.NewJob) { j.Tenant = "big" })
	n.add(1, kind, func(j *domain.NewJob) { j.Tenant = "small" })
	n.add(10, kind, nil)
	var got driven.Claims
	pages := n.pages(func() (err error) {
		got, err = n.b.Store.Claim(n.Context(), driven.ClaimRequest{
			Token: domain.Token(n.id()), Runner: "r", Lease: time.Hour, Queue: "q", Kinds: kinds, N: 10, Fair: true,
		})
		return err
	})
	served := map[string]int{}
	for _, j := range got.Jobs {
		served[j.Job.Tenant]++
	}
	if len(got.Jobs) != 10 || served["small"] != 1 {
		n.Errorf("the claim served %v", served)
	}
	n.exec("DELETE FROM rowlock_jobs WHERE created_at > 1000000")
	return pages
}
