package customadapter

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func reopen(t *testing.T, path string) *store {
	t.Helper()
	backend, err := Open(Config{Path: path, Now: system.Clock().Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Close() })
	return backend.Store.(*store)
}

func jobs(t *testing.T, s *store) []domain.Job {
	t.Helper()
	all, err := s.Jobs(t.Context(), domain.Filter{}, domain.Page{Size: 100})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func insert(t *testing.T, s *store, change func(*domain.NewJob)) (driven.Inserted, error) {
	t.Helper()
	job := domain.NewJob{ID: system.IDs().NewJobID(), Kind: "k", Queue: "q", Args: []byte(`{"n": 9007199254740993, "s": "<\u2028>"}`)}
	if change != nil {
		change(&job)
	}
	answers, err := s.Insert(t.Context(), []domain.NewJob{job})
	if err != nil {
		return driven.Inserted{}, err
	}
	return answers[0], nil
}

// TestRestart opens the file again with jobs in every state, and goes on.
func TestRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.log")
	s := reopen(t, path)
	for range 3 {
		if _, err := insert(t, s, func(n *domain.NewJob) { n.Tags, n.Meta = []string{"a", "b"}, []byte(`{"x": 1.0}`) }); err != nil {
			t.Fatal(err)
		}
	}
	unique := func(n *domain.NewJob) { n.Unique, n.Due.After = &domain.Unique{Key: "u"}, time.Hour }
	held, err := insert(t, s, unique)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := s.Claim(t.Context(), driven.ClaimRequest{Token: system.IDs().NewToken(), Runner: "r", Lease: time.Hour, Queue: "q", Kinds: []string{"k"}, N: 2})
	if err != nil || len(claims.Jobs) != 2 {
		t.Fatal(claims, err)
	}
	outcome := func(i int) []driven.Outcome {
		c := claims.Jobs[i]
		return []driven.Outcome{{Ticket: c.Ticket(), To: domain.Done, Counts: true, Result: []byte(`1`), Keep: time.Hour}}
	}
	if _, err := s.Settle(t.Context(), outcome(0)); err != nil {
		t.Fatal(err)
	}
	before := jobs(t, s)

	s = reopen(t, path)
	if after := jobs(t, s); !reflect.DeepEqual(before, after) {
		t.Fatalf("before\n%+v\nafter\n%+v", before, after)
	}
	if again, err := insert(t, s, unique); err != nil || again.ID != held.ID || again.Result != domain.Existing {
		t.Fatal("the key was not held:", again, err)
	}
	for i := range 2 { // a repeat, and the outcome of a claim from before
		if answer, err := s.Settle(t.Context(), outcome(i)); err != nil || len(answer.Dropped) != 0 {
			t.Fatal(answer, err)
		}
	}
}

// TestKilledWhileWriting cuts the last transaction's line anywhere: it never was, all others were.
func TestKilledWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.log")
	s := reopen(t, path)
	if _, err := insert(t, s, nil); err != nil {
		t.Fatal(err)
	}
	whole := s.size
	want := jobs(t, s)
	if _, err := insert(t, s, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := whole; cut < int64(len(text)); cut += 37 {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			torn := filepath.Join(t.TempDir(), "torn.log")
			if err := os.WriteFile(torn, text[:cut], 0o600); err != nil {
				t.Fatal(err)
			}
			s := reopen(t, torn)
			if got := jobs(t, s); !reflect.DeepEqual(got, want) {
				t.Fatalf("%d jobs, want %d", len(got), len(want))
			}
			if _, err := insert(t, s, nil); err != nil || len(jobs(t, reopen(t, torn))) != 2 {
				t.Fatal("the torn file cannot be written on", err)
			}
		})
	}
}

func TestFilesThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.log")
	if err := os.WriteFile(bad, []byte("[]\nnot a log\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{
		"damaged": {Path: bad, Now: system.Clock().Now}, "no folder": {Path: filepath.Join(dir, "no", "jobs.log"), Now: system.Clock().Now},
	} {
		if _, err := Open(cfg); domain.CodeOf(err) != domain.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, cfg := range []Config{{}, {Path: bad}, {Now: system.Clock().Now}} {
		if _, err := Open(cfg); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// TestDiskThatRefuses lets every write fail: nothing of the call may be seen.
func TestDiskThatRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.log")
	s := reopen(t, path)
	unique := func(n *domain.NewJob) { n.Unique = &domain.Unique{Key: "u"} }
	if _, err := insert(t, s, unique); err != nil {
		t.Fatal(err)
	}
	want, writable := jobs(t, s), s.log
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	s.log = readOnly
	if _, err := insert(t, s, func(n *domain.NewJob) { n.Unique = &domain.Unique{Key: "v"} }); domain.CodeOf(err) != domain.Unavailable {
		t.Fatal(err)
	}
	claim := driven.ClaimRequest{Token: system.IDs().NewToken(), Runner: "r", Lease: time.Hour, Queue: "q", Kinds: []string{"k"}, N: 5}
	if _, err := s.Claim(t.Context(), claim); domain.CodeOf(err) != domain.Unavailable {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), driven.EditRequest{IDs: []domain.JobID{want[0].ID}}); domain.CodeOf(err) != domain.Unavailable {
		t.Fatal(err)
	}
	if got := jobs(t, s); !reflect.DeepEqual(got, want) {
		t.Fatalf("seen after the failure: %+v", got)
	}
	s.log = writable
	if again, err := insert(t, s, unique); err != nil || again.ID != want[0].ID {
		t.Fatal("the key was lost:", again, err)
	}
	if claims, err := s.Claim(t.Context(), claim); err != nil || len(claims.Jobs) != 1 {
		t.Fatal(claims, err)
	}
}
