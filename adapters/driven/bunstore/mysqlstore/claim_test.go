package mysqlstore

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
)

// kinds are k0, k1, ..
func kinds(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("k", i)
	}
	return out
}

// mixed makes n jobs, each of the kind that pick names.
func mixed(t *testing.T, s *bunstore.Store, n int, pick func(i int) int) []domain.JobID {
	t.Helper()
	ids, jobs := system.IDs(), make([]domain.NewJob, n)
	order := make([]domain.JobID, n)
	for i := range jobs {
		jobs[i] = domain.NewJob{ID: ids.NewJobID(), Kind: fmt.Sprint("k", pick(i)), Queue: "q", Args: []byte(`{}`)}
		order[i] = jobs[i].ID
	}
	if _, err := s.Insert(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	return order
}

func asking(kinds []string, n int) driven.ClaimRequest {
	return driven.ClaimRequest{Token: system.IDs().NewToken(), Runner: "r", Lease: time.Minute, Queue: "q", Kinds: kinds, N: n}
}

// makes are the two that every test runs on.
var makes = map[string]func(testing.TB, ...servers.Option) string{"mysql": servers.MySQL, "mariadb": servers.MariaDB}

// onEach runs a test on both servers at once.
func onEach(t *testing.T, test func(t *testing.T, dsn string)) {
	for name, dsn := range makes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, dsn(t))
		})
	}
}

// installed is a store on a database of its own, and what it is made of.
func installed(t *testing.T, dsn string) (*bunstore.Store, *engine, *bunstore.Dialect) {
	t.Helper()
	db := servers.Open(t, dsn)
	e := &engine{db: db}
	srv, err := ask(t.Context(), e, Config{})
	if err != nil {
		t.Fatal(err)
	}
	e.lockName = lockName(srv.database, "rowlock_")
	d := newDialect(db, srv, "rowlock_")
	s := bunstore.New(d, e, nil)
	if _, err := s.Migrator().Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	return s, e, &d
}

// TestClaimOrderOverKinds: whatever the mix, each claim gives the very next jobs
// and as many as were asked for.
func TestClaimOrderOverKinds(t *testing.T) { onEach(t, claimOrder) }

func claimOrder(t *testing.T, dsn string) {
	s, _, _ := installed(t, dsn)
	for name, pick := range map[string]func(int) int{
		"even":          func(i int) int { return i % 20 },
		"one kind":      func(int) int { return 7 },
		"in blocks":     func(i int) int { return i / 50 },
		"nearly all":    func(i int) int { return max(0, i%40-20) },
		"a late change": func(i int) int { return i / 700 * 19 },
	} {
		t.Run(name, func(t *testing.T) {
			want := mixed(t, s, 1000, pick)
			for _, n := range []int{1, 100, 3, 250, 100, 46, 500} {
				got, err := s.Claim(t.Context(), asking(kinds(20), n))
				if err != nil || len(got.Jobs) != n {
					t.Fatalf("claimed %d of %d: %v", len(got.Jobs), n, err)
				}
				for i, j := range got.Jobs {
					if j.Job.ID != want[i] {
						t.Fatalf("job %d of a claim of %d is of kind %s and not the next one", i, n, j.Job.Kind)
					}
				}
				want = want[n:]
			}
			if len(want) > 0 {
				t.Errorf("%d jobs are left", len(want))
			}
		})
	}
}

// TestClaimLocksWhatItTakes: while a claim over many kinds is not yet over, every
// row that it leaves can be claimed by others, also where they are few.
func TestClaimLocksWhatItTakes(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) {
		s, e, d := installed(t, dsn)
		mixed(t, s, 60, func(i int) int { return i % 20 })
		tx, err := e.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		first, err := newClaimer(d).Claim(t.Context(), tx, nil, asking(kinds(20), 10))
		if err != nil || len(first) != 10 {
			t.Fatalf("claimed %d: %v", len(first), err)
		}
		rest, err := s.Claim(t.Context(), asking(kinds(20), 60))
		if err != nil || len(rest.Jobs) != 50 {
			t.Fatalf("claimed %d of 50 beside a claim that is not over: %v", len(rest.Jobs), err)
		}
	})
}

// TestClaimPassesOverLocks: however many rows at the head others hold, a claim
// gets what is free behind them.
func TestClaimPassesOverLocks(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) {
		for _, n := range []int{1, 20, 2 * maxArms} {
			s, e, _ := installed(t, dsn)
			want := mixed(t, s, 1000, func(i int) int { return i % n })
			tx, err := e.db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec("SELECT id FROM rowlock_jobs FORCE INDEX (PRIMARY) ORDER BY id LIMIT 900 " + wait); err != nil {
				t.Fatal(err)
			}
			got, err := s.Claim(t.Context(), asking(kinds(n), 5))
			if err != nil || len(got.Jobs) != 5 || got.Jobs[0].Job.ID != want[900] {
				t.Errorf("%d kinds: claimed %d: %v", n, len(got.Jobs), err)
			}
			_ = tx.Rollback()
			if _, err := e.db.Exec("DELETE FROM rowlock_jobs"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestClaimersOverKinds: 30 claimers at once over 20 kinds get each job once and
// leave none, in claims that go on for as long as they give something.
func TestClaimersOverKinds(t *testing.T) { onEach(t, claimers) }

func claimers(t *testing.T, dsn string) {
	s, _, _ := installed(t, dsn)
	all := mixed(t, s, 600, func(i int) int { return i * i % 20 })
	var mu sync.Mutex
	seen := map[domain.JobID]int{}
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 30 {
		wg.Go(func() {
			<-start
			for {
				got, err := s.Claim(t.Context(), asking(kinds(20), 7))
				if err != nil {
					t.Error(err)
				}
				if len(got.Jobs) == 0 {
					return
				}
				mu.Lock()
				for _, j := range got.Jobs {
					seen[j.Job.ID]++
				}
				mu.Unlock()
			}
		})
	}
	close(start)
	wg.Wait()
	for _, id := range all {
		if seen[id] != 1 {
			t.Fatalf("job %s was claimed %d times", id, seen[id])
		}
	}
}
