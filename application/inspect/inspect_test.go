package inspect_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/inspect"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// fake answers what it is told to and records what it was asked for.
type fake struct {
	driven.Runners // Beat and Leave are not asked for
	filter         domain.Filter
	page           domain.Page
	tenant         string
	limit          int
	lines          []domain.Line
	runners        []domain.RunnerInfo
	slow           bool // every search goes on until its context ends
	err            error
}

func (f *fake) wait(ctx context.Context) error {
	if f.slow {
		<-ctx.Done()
		return ctx.Err()
	}
	return f.err
}

func (f *fake) Job(_ context.Context, id domain.JobID, tenant string) (domain.Job, error) {
	f.tenant = tenant
	return domain.Job{ID: id}, f.err
}

func (f *fake) Jobs(ctx context.Context, filter domain.Filter, page domain.Page) ([]domain.Job, error) {
	f.filter, f.page = filter, page
	return make([]domain.Job, 1), f.wait(ctx)
}

func (f *fake) Match(context.Context, domain.Filter, domain.Page) ([]domain.JobID, error) {
	return nil, errors.New("an inspector needs no bare ids")
}

func (f *fake) Count(ctx context.Context, filter domain.Filter, limit int) (int, bool, error) {
	f.filter, f.limit = filter, limit
	return limit, false, f.wait(ctx)
}

func (f *fake) Stats(_ context.Context, tenant string, limit int) (domain.Stats, error) {
	f.tenant, f.limit = tenant, limit
	return domain.Stats{Lines: f.lines, Exact: true}, f.err
}

func (f *fake) ListRunners(context.Context, int) ([]domain.RunnerInfo, error) {
	return f.runners, f.err
}

func service(f *fake) *inspect.Service { return inspect.New(inspect.Deps{Finder: f, Runners: f}) }

func TestListChecksThePage(t *testing.T) {
	f := &fake{}
	if jobs, err := service(f).List(t.Context(), domain.Filter{}, domain.Page{}); err != nil || len(jobs) != 1 || f.page.Size != 50 {
		t.Errorf("%d jobs of a page of %d, %v", len(jobs), f.page.Size, err)
	}
	for _, size := range []int{-1, 501} {
		if _, err := service(f).List(t.Context(), domain.Filter{}, domain.Page{Size: size}); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("size %d: %v, want Invalid", size, err)
		}
	}
}

func TestEveryLookStaysInItsTenant(t *testing.T) {
	ctx := domain.WithTenant(t.Context(), "acme")
	looks := map[string]func(*inspect.Service) error{
		"get":   func(s *inspect.Service) error { _, err := s.Get(ctx, domain.JobID{}); return err },
		"list":  func(s *inspect.Service) error { _, err := s.List(ctx, domain.Filter{}, domain.Page{}); return err },
		"count": func(s *inspect.Service) error { _, err := s.Count(ctx, domain.Filter{}); return err },
		"stats": func(s *inspect.Service) error { _, err := s.Stats(ctx); return err },
	}
	for name, look := range looks {
		f := &fake{}
		if err := look(service(f)); err != nil || f.tenant+f.filter.Tenant != "acme" {
			t.Errorf("%s looked at tenant %q, %v", name, f.tenant+f.filter.Tenant, err)
		}
	}
}

func TestCountsAreCapped(t *testing.T) {
	f := &fake{}
	count, err := service(f).Count(t.Context(), domain.Filter{})
	if err != nil || count.N != 10_000 || count.Exact {
		t.Errorf("%+v, %v", count, err)
	}
	if _, err = service(f).Stats(t.Context()); err != nil || f.limit != 100_000 {
		t.Errorf("the statistics count up to %d, %v", f.limit, err)
	}
}

func TestASearchEndsInTimeWithAHint(t *testing.T) {
	searches := map[string]func(context.Context, *inspect.Service) error{
		"list": func(ctx context.Context, s *inspect.Service) error {
			_, err := s.List(ctx, domain.Filter{Error: "refused"}, domain.Page{})
			return err
		},
		"count": func(ctx context.Context, s *inspect.Service) error {
			_, err := s.Count(ctx, domain.Filter{Tag: "vip"})
			return err
		},
	}
	for name, search := range searches {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := search(t.Context(), service(&fake{slow: true}))
				if domain.CodeOf(err) != domain.Exhausted || !strings.Contains(domain.HintOf(err), "narrow it") {
					t.Errorf("got %v, want Exhausted", err)
				}
				if took := time.Since(began); took != 5*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
		t.Run(name+", given up by its caller", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := search(ctx, service(&fake{slow: true})); domain.CodeOf(err) != domain.Canceled {
				t.Errorf("got %v, want Canceled", err)
			}
		})
		t.Run(name+", store down", func(t *testing.T) {
			down := &domain.Fault{Code: domain.Unavailable}
			if err := search(t.Context(), service(&fake{err: down})); !errors.Is(err, down) {
				t.Errorf("got %v, want the store's own fault", err)
			}
		})
	}
}

func TestStatsNameTheKindsThatNobodyHandles(t *testing.T) {
	due := func(queue, kind string, n int64) domain.Line {
		return domain.Line{Queue: queue, Kind: kind, Tally: domain.Tally{Due: n, Scheduled: 9, Done: 9}}
	}
	lines := []domain.Line{due("a", "z", 1), due("a", "mail", 1), due("b", "mail", 1), due("b", "idle", 0), due("b", "pdf", 2), due("c", "z", 1)}
	runner := func(queues []string, kinds ...string) domain.RunnerInfo {
		return domain.RunnerInfo{ID: "r", Queues: queues, Kinds: kinds}
	}
	cases := map[string]struct {
		runners []domain.RunnerInfo
		want    []string
	}{
		"no runner":          {nil, []string{"mail", "pdf", "z"}},
		"all queues":         {[]domain.RunnerInfo{runner(nil, "mail", "pdf")}, []string{"z"}},
		"one of two queues":  {[]domain.RunnerInfo{runner([]string{"a"}, "mail", "pdf", "z")}, []string{"mail", "pdf", "z"}},
		"two runners":        {[]domain.RunnerInfo{runner([]string{"a"}, "mail"), runner([]string{"b", "c"}, "mail", "z")}, []string{"pdf", "z"}},
		"everything handled": {[]domain.RunnerInfo{runner(nil, "mail", "pdf"), runner([]string{"c", "a"}, "z")}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			stats, err := service(&fake{lines: lines, runners: c.runners}).Stats(t.Context())
			if err != nil || !slices.Equal(stats.Unhandled, c.want) {
				t.Errorf("unhandled %v, %v; want %v", stats.Unhandled, err, c.want)
			}
			if len(stats.Lines) != len(lines) || len(stats.Runners) != len(c.runners) || !stats.Exact {
				t.Errorf("got %+v", stats)
			}
		})
	}
}
