package memstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestOpenNeedsAClock(t *testing.T) {
	_, err := Open(Config{})
	if domain.CodeOf(err) != domain.Invalid || !strings.Contains(domain.HintOf(err), "system.Clock().Now") {
		t.Fatalf("got %v", err)
	}
}

// TestNoSharedMemory writes over all that went in and came out.
func TestNoSharedMemory(t *testing.T) {
	b := open(t)
	job := b.job()
	job.Tags, job.Meta = []string{"tag"}, []byte(`{"m":1}`)
	args, tags, meta := string(job.Args), slices.Clone(job.Tags), string(job.Meta)
	spoil := func(j *domain.Job) {
		clear(j.Args)
		clear(j.Tags)
		clear(j.Meta)
		clear(j.Result)
	}
	same := func(j domain.Job) {
		t.Helper()
		if string(j.Args) != args || !slices.Equal(j.Tags, tags) || string(j.Meta) != meta {
			t.Fatalf("args %q tags %q meta %q", j.Args, j.Tags, j.Meta)
		}
	}
	b.add(job)
	spoil(&domain.Job{Args: job.Args, Tags: job.Tags, Meta: job.Meta})
	claimed := b.claim(1).Jobs[0]
	same(claimed.Job)
	spoil(&claimed.Job)
	result := []byte(`[1]`)
	b.settle1(driven.Outcome{Ticket: claimed.Ticket(), To: domain.Done, Result: result, Keep: -1})
	clear(result)
	for range 2 {
		got := b.get(job.ID)
		same(got)
		if string(got.Result) != `[1]` {
			t.Fatalf("result %q", got.Result)
		}
		spoil(&got)
	}
	listed, err := b.Jobs(t.Context(), domain.Filter{}, domain.Page{})
	if err != nil || len(listed) != 1 {
		t.Fatal(listed, err)
	}
	spoil(&listed[0])
	same(b.get(job.ID))
}

func TestRunnersAreCopiedAndForgotten(t *testing.T) {
	b := open(t)
	info := domain.RunnerInfo{ID: "r", Kinds: []string{"k"}, Queues: []string{"q"}, StartedAt: start}
	if err := b.Beat(t.Context(), info, time.Second); err != nil {
		t.Fatal(err)
	}
	info.Kinds[0] = "x"
	for range 2 {
		live, err := b.ListRunners(t.Context(), 10)
		if err != nil || len(live) != 1 || live[0].Kinds[0] != "k" || live[0].Queues[0] != "q" || !live[0].SeenAt.Equal(start) {
			t.Fatalf("%+v %v", live, err)
		}
		live[0].Kinds[0], live[0].Queues[0] = "x", "x"
	}
	b.pass(time.Second)
	if live, _ := b.ListRunners(t.Context(), 10); len(live) != 0 {
		t.Fatalf("%v lives on after its span", live)
	}
	if err := b.Beat(t.Context(), domain.RunnerInfo{ID: "other"}, time.Second); err != nil {
		t.Fatal(err)
	}
	if len(b.runners) != 1 {
		t.Fatal("a dead runner is kept in memory")
	}
}

func TestEveryMethodHeedsContextAndClose(t *testing.T) {
	calls := map[string]func(context.Context, driven.Store) error{
		"Insert": func(ctx context.Context, s driven.Store) error { _, err := s.Insert(ctx, nil); return err },
		"Claim": func(ctx context.Context, s driven.Store) error {
			_, err := s.Claim(ctx, driven.ClaimRequest{})
			return err
		},
		"Queues": func(ctx context.Context, s driven.Store) error { _, err := s.Queues(ctx, "", 1); return err },
		"Settle": func(ctx context.Context, s driven.Store) error { _, err := s.Settle(ctx, nil); return err },
		"Renew": func(ctx context.Context, s driven.Store) error {
			_, err := s.Renew(ctx, driven.RenewRequest{})
			return err
		},
		"Recover": func(ctx context.Context, s driven.Store) error {
			_, err := s.Recover(ctx, driven.RecoverRequest{})
			return err
		},
		"Retry": func(ctx context.Context, s driven.Store) error {
			_, err := s.Retry(ctx, driven.EditRequest{})
			return err
		},
		"Cancel": func(ctx context.Context, s driven.Store) error {
			_, err := s.Cancel(ctx, driven.EditRequest{})
			return err
		},
		"Delete": func(ctx context.Context, s driven.Store) error {
			_, err := s.Delete(ctx, driven.EditRequest{})
			return err
		},
		"Reschedule": func(ctx context.Context, s driven.Store) error {
			_, err := s.Reschedule(ctx, driven.EditRequest{})
			return err
		},
		"Job": func(ctx context.Context, s driven.Store) error { _, err := s.Job(ctx, domain.JobID{}, ""); return err },
		"Jobs": func(ctx context.Context, s driven.Store) error {
			_, err := s.Jobs(ctx, domain.Filter{}, domain.Page{})
			return err
		},
		"Match": func(ctx context.Context, s driven.Store) error {
			_, err := s.Match(ctx, domain.Filter{}, domain.Page{})
			return err
		},
		"Count": func(ctx context.Context, s driven.Store) error {
			_, _, err := s.Count(ctx, domain.Filter{}, 1)
			return err
		},
		"Stats": func(ctx context.Context, s driven.Store) error { _, err := s.Stats(ctx, "", 1); return err },
		"Prune": func(ctx context.Context, s driven.Store) error {
			_, err := s.Prune(ctx, driven.PruneRequest{})
			return err
		},
		"Beat":        func(ctx context.Context, s driven.Store) error { return s.Beat(ctx, domain.RunnerInfo{}, 0) },
		"Leave":       func(ctx context.Context, s driven.Store) error { return s.Leave(ctx, "") },
		"ListRunners": func(ctx context.Context, s driven.Store) error { _, err := s.ListRunners(ctx, 1); return err },
	}
	b := open(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls {
		if err := call(over, b.backend.Store); domain.CodeOf(err) != domain.Canceled || !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context: %v", name, err)
		}
	}
	for range 2 {
		if err := b.backend.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, call := range calls {
		if err := call(t.Context(), b.backend.Store); domain.CodeOf(err) != domain.Unavailable {
			t.Errorf("%s on a closed store: %v", name, err)
		}
	}
}

// lateContext ends after it was asked a number of times.
type lateContext struct {
	context.Context
	left int
}

func (c *lateContext) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestScansEndWithTheirContext(t *testing.T) {
	b := open(t)
	jobs := make([]domain.NewJob, 3_000)
	for i := range jobs {
		jobs[i] = b.job()
	}
	b.add(jobs...)
	none := domain.Filter{Kind: "no such kind"}
	scans := map[string]func(context.Context) error{
		"jobs":  func(ctx context.Context) error { _, err := b.Jobs(ctx, none, domain.Page{}); return err },
		"match": func(ctx context.Context) error { _, err := b.Match(ctx, none, domain.Page{}); return err },
		"count": func(ctx context.Context) error { _, _, err := b.Count(ctx, none, 10); return err },
		"stats": func(ctx context.Context) error { _, err := b.Stats(ctx, "no such tenant", 10); return err },
	}
	for name, scan := range scans {
		if err := scan(&lateContext{t.Context(), 2}); domain.CodeOf(err) != domain.Canceled {
			t.Errorf("%s: %v", name, err)
		}
		if err := scan(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
