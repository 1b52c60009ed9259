package pgstore

import (
	"fmt"
	"os"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/test/servers"
)

// TestFairPlans is TestPlans for claims that serve tenants in turn, at full scale
// beside one tenant that 50,000 jobs wait for and 100,000 jobs of none.
func TestFairPlans(t *testing.T) {
	scale := 10
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		scale = 1
	}
	cfg, err := Config{}.check()
	if err != nil {
		t.Fatal(err)
	}
	db := servers.Open(t, servers.Postgres(t))
	x := &explainer{engine: newEngine(db, cfg, false), t: t}
	s := bunstore.New(newDialect(db, cfg), x, nil)
	if _, err := s.Migrator().Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	x.exec("ALTER TABLE rowlock_jobs SET (autovacuum_enabled = false)")
	x.exec(fmt.Sprintf("INSERT INTO rowlock_jobs (id, state, queue, kind, priority, run_at, due_at, wake_at, created_at, args, tenant)"+
		" SELECT gen_random_uuid(), 0, 'q', 'k' || i %% 5, 0, i, i, 0, 1, '{}', CASE WHEN i %% 3 = 0 THEN 'big' ELSE '' END FROM generate_series(1, %d) AS i", 150_000/scale))
	t.Run("no statistics", func(t *testing.T) { x.fairPlans(t, s) })
	x.t = t
	x.exec("VACUUM ANALYZE rowlock_jobs")
	t.Run("statistics", func(t *testing.T) { x.fairPlans(t, s) })
}

func (x *explainer) fairPlans(t *testing.T, s *bunstore.Store) {
	x.t = t
	for what, names := range map[string][]string{"one kind": {"k1"}, "all kinds": {"k0", "k1", "k2", "k3", "k4"}, "another kind": {"other"}} {
		jobs := make([]domain.NewJob, batch)
		for i := range jobs {
			jobs[i] = domain.NewJob{ID: system.IDs().NewJobID(), Kind: names[0], Queue: "q", Args: []byte(`{}`), Tenant: "small"}
			if i > 0 {
				jobs[i].Tenant = ""
			}
		}
		if _, err := s.Insert(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
		ask := asking(names, 10)
		ask.Fair = true
		// Two tenants, a share and those aside of each, and what is taken, by each statement once.
		x.judge("claim "+what, 2*(4+100)+100, func() error {
			got, err := s.Claim(t.Context(), ask)
			served := map[string]int{}
			for _, j := range got.Jobs {
				served[j.Job.Tenant]++
			}
			if len(got.Jobs) != 10 || served["small"] != 1 {
				t.Errorf("the claim served %v", served)
			}
			return err
		})
		x.exec("DELETE FROM rowlock_jobs WHERE created_at > 1")
	}
}
