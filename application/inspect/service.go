package inspect

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// The bounds of every look.
const (
	maxCount    = 10_000  // a count stops here
	maxState    = 100_000 // the statistics count each state up to here
	maxRunners  = 1_000
	searchLimit = 5 * time.Second
)

// Deps is what a Service works with.
type Deps struct {
	Finder  driven.Finder
	Runners driven.Runners
	Search  time.Duration // how long a list or a count may search; 0: 5 s
}

// Service looks at jobs. It is safe for concurrent use.
type Service struct {
	finder  driven.Finder
	runners driven.Runners
	search  time.Duration
}

var _ driving.Inspector = (*Service)(nil)

// New makes a Service.
func New(d Deps) *Service {
	if d.Search <= 0 {
		d.Search = searchLimit
	}
	return &Service{finder: d.Finder, runners: d.Runners, search: d.Search}
}

// Get answers one job, NotFound also for another tenant's.
func (s *Service) Get(ctx context.Context, id domain.JobID) (domain.Job, error) {
	tenant, err := domain.ScopeOf(ctx)
	if err != nil {
		return domain.Job{}, err
	}
	return s.finder.Job(ctx, id, tenant)
}

// List answers one page, newest first.
func (s *Service) List(ctx context.Context, f domain.Filter, p domain.Page) (jobs []domain.Job, err error) {
	if p, err = p.Validate(); err != nil {
		return nil, err
	}
	err = s.within(ctx, "list jobs", f, func(ctx context.Context, f domain.Filter) error {
		jobs, err = s.finder.Jobs(ctx, f, p)
		return err
	})
	return jobs, err
}

// Count counts up to 10,000 and says whether that is all.
func (s *Service) Count(ctx context.Context, f domain.Filter) (count driving.Count, err error) {
	err = s.within(ctx, "count jobs", f, func(ctx context.Context, f domain.Filter) error {
		count.N, count.Exact, err = s.finder.Count(ctx, f, maxCount)
		return err
	})
	return count, err
}

// within runs a search in the scope and time it has. Some filters no index
// serves, e.g. a part of an error's text: on a big table they end with Exhausted.
func (s *Service) within(ctx context.Context, op string, f domain.Filter, find func(context.Context, domain.Filter) error) error {
	f, err := f.Scope(ctx)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, s.search)
	defer cancel()
	err = find(limited, f)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return &domain.Fault{
			Code: domain.Exhausted, Op: op, Err: err,
			Hint: "the search did not end within " + s.search.String() + ": narrow it by state, queue, kind or time",
		}
	}
	return err
}
