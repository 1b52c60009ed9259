package sqlitestore_test

import (
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func declare(t testing.TB, b driven.Backend, all ...domain.Declaration) {
	t.Helper()
	kinds := make([]string, len(all))
	for i, d := range all {
		kinds[i] = d.Kind
	}
	if err := b.Store.Declare(t.Context(), kinds, all); err != nil {
		t.Fatal(err)
	}
}

func limit(kind string, n int) domain.Declaration {
	return domain.Declaration{Kind: kind, Sort: domain.BoundLimit, Group: "g", N: n}
}

func admit(t testing.TB, b driven.Backend, claims driven.Claims) driven.Admission {
	t.Helper()
	var r driven.AdmitRequest
	for i := range claims.Jobs {
		c := &claims.Jobs[i]
		r.Wants = append(r.Wants, driven.Want{Ticket: c.Ticket(), Kind: c.Job.Kind, Limit: true, Turn: c.Job.Turn != domain.NoTurn})
	}
	got, err := b.Store.Admit(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// An admission whose answer was lost is asked for again: the claims get what they
// have already, no more and no less.
func TestAdmitAgain(t *testing.T) {
	b := open(t, sqlitestore.Config{})
	declare(t, b, limit("k", 3))
	in := jobs(3, "k")
	for i := range in {
		in[i].Turn, in[i].Keys = domain.TurnMutex, []string{in[i].ID.String(), "of " + in[i].ID.String()}
	}
	insert(t, b, in)
	claims := claim(t, b, 3, "k")
	for range 3 {
		got := admit(t, b, claims)
		held, err := b.Store.Held(t.Context(), domain.Slot{}, 100)
		if err != nil || len(got.Admitted) != 3 || len(got.Parked) != 0 || len(held) != 9 {
			t.Fatalf("%d admitted, %d parked, %d slots held (%v)", len(got.Admitted), len(got.Parked), len(held), err)
		}
		for _, a := range got.Admitted {
			for _, s := range a.Slots {
				at := domain.Slot{Key: s.Key, Index: s.Index - 1}
				if h, err := b.Store.Held(t.Context(), at, 1); err != nil || h[0].Slot != s.Slot || h[0].Job != a.ID {
					t.Errorf("slot %v of job %s is held as %v (%v)", s.Slot, a.ID, h, err)
				}
			}
		}
	}
}

// Processes that declare kinds of one group at once agree on what it allows,
// whoever was last.
func TestDeclareAtOnce(t *testing.T) {
	b := open(t, sqlitestore.Config{})
	var wg sync.WaitGroup
	for i, kind := range []string{"a", "b", "c", "d", "e", "f"} {
		wg.Go(func() { declare(t, b, limit(kind, i+1)) })
	}
	wg.Wait()
	all, err := b.Store.Declared(t.Context(), "", 100)
	if err != nil || len(all) != 6 {
		t.Fatal(all, err)
	}
	for _, d := range all {
		if d.N != all[0].N {
			t.Errorf("kind %s is allowed %d, kind %s %d", d.Kind, d.N, all[0].Kind, all[0].N)
		}
	}
}

// A schema from before bounds: jobs that have none live their whole life, and a job
// that has some is refused, in a transaction of the host's too.
func TestBoundsOnAnOlderSchema(t *testing.T) {
	cfg := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "jobs.db")}
	b := openBare(t, cfg)
	if _, err := b.Schema.Up(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	in := jobs(4, "k")
	insert(t, b, in)
	got := claim(t, b, 3, "k")
	outs := make([]driven.Outcome, len(got.Jobs))
	for i, to := range []domain.State{domain.Done, domain.Dead, domain.Scheduled} {
		outs[i] = driven.Outcome{Ticket: got.Jobs[i].Ticket(), To: to, Counts: true, After: time.Hour}
	}
	settled, err := b.Store.Settle(t.Context(), outs)
	if err != nil || len(settled.Dropped) > 0 {
		t.Fatal(settled, err)
	}
	if got, err := b.Store.Prune(t.Context(), driven.PruneRequest{Limit: 1}); got.Removed != 1 || err != nil {
		t.Error(got, err)
	}
	r := driven.EditRequest{IDs: []domain.JobID{in[1].ID, in[2].ID, in[3].ID}}
	for name, edit := range map[string]func() ([]domain.Edited, error){
		"retry":  func() ([]domain.Edited, error) { return b.Store.Retry(t.Context(), r) },
		"delete": func() ([]domain.Edited, error) { return b.Store.Delete(t.Context(), r) },
	} {
		if _, err := edit(); err != nil {
			t.Error(name, err)
		}
	}
	in = jobs(1, "k")
	in[0].Turn, in[0].Keys = domain.TurnMutex, []string{"m"}
	_, err = b.Store.Insert(t.Context(), in)
	wantCode(t, err, domain.Unsupported)
	tx := begin(t, pool(t, cfg.Path, nil))
	inserter, err := b.Tx.Bind(tx.Tx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = inserter.Insert(t.Context(), in)
	wantCode(t, err, domain.Unsupported)
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if n, _, err := b.Store.Count(t.Context(), domain.Filter{}, 10); n != 0 || err != nil {
		t.Errorf("%d jobs are left (%v)", n, err)
	}
}

// The turns of jobs are those of the transaction that wrote them.
func TestTurnsInAHostTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	b := open(t, sqlitestore.Config{Path: path})
	db := pool(t, path, nil)
	in := jobs(2, "k")
	for i := range in {
		in[i].Turn, in[i].Keys = domain.TurnChain, []string{"b", "a", "b"}
		tx := begin(t, db)
		inserter, err := b.Tx.Bind(tx.Tx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := inserter.Insert(t.Context(), in[i:i+1]); err != nil {
			t.Fatal(err)
		}
		end := tx.Rollback
		if i > 0 {
			end = tx.Commit
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	j, err := b.Store.Job(t.Context(), in[1].ID, "")
	if want := []string{"a", "b"}; err != nil || !reflect.DeepEqual(j.Keys, want) || j.Turn != domain.TurnChain {
		t.Errorf("the keys are %q (%v)", j.Keys, err)
	}
	if got := admit(t, b, claim(t, b, 2, "k")); len(got.Admitted) != 1 || len(got.Admitted[0].Slots) != 2 {
		t.Errorf("admitted %+v", got)
	}
}
