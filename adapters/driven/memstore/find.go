package memstore

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func (s *store) Job(ctx context.Context, id domain.JobID, tenant string) (job domain.Job, err error) {
	const op = "get job"
	err = s.do(ctx, op, func(time.Time) error {
		r := s.find(id, tenant)
		if r == nil {
			return notFound(op, id)
		}
		job = r.copy()
		job.Keys = clone(r.Keys)
		return nil
	})
	return job, err
}

func (s *store) Jobs(ctx context.Context, f domain.Filter, p domain.Page) (jobs []domain.Job, err error) {
	err = s.match(ctx, "list jobs", f, p, func(r *row) { jobs = append(jobs, r.copy()) })
	return jobs, err
}

func (s *store) Match(ctx context.Context, f domain.Filter, p domain.Page) (ids []domain.JobID, err error) {
	err = s.match(ctx, "match jobs", f, p, func(r *row) { ids = append(ids, r.ID) })
	return ids, err
}

// match gives the rows of one page, newest first.
func (s *store) match(ctx context.Context, op string, f domain.Filter, p domain.Page, give func(*row)) error {
	return s.do(ctx, op, func(time.Time) error {
		left := p.Size
		if left <= 0 {
			left = domain.DefaultPage
		}
		var before *row
		if !p.Before.IsZero() {
			before = &row{Job: domain.Job{ID: p.Before}}
		}
		return scan(ctx, op, s.ids.down(before), func(r *row) bool {
			if matches(f, &r.Job) {
				give(r)
				left--
			}
			return left > 0
		})
	})
}

func (s *store) Count(ctx context.Context, f domain.Filter, limit int) (n int, exact bool, err error) {
	const op = "count jobs"
	err = s.do(ctx, op, func(time.Time) error {
		return scan(ctx, op, s.ids.down(nil), func(r *row) bool {
			if matches(f, &r.Job) {
				n++
			}
			return n <= limit
		})
	})
	return min(n, limit), err == nil && n <= limit, err
}

// scan walks rows until visit says no; it ends with the context.
func scan(ctx context.Context, op string, rows iter.Seq[*row], visit func(*row) bool) error {
	seen := 0
	for r := range rows {
		if seen++; seen%1024 == 0 {
			if err := ended(ctx, op); err != nil {
				return err
			}
		}
		if !visit(r) {
			return nil
		}
	}
	return nil
}

func matches(f domain.Filter, job *domain.Job) bool {
	return (len(f.States) == 0 || slices.Contains(f.States, job.State)) &&
		(f.Queue == "" || job.Queue == f.Queue) &&
		(f.Kind == "" || job.Kind == f.Kind) &&
		(f.Tenant == "" || job.Tenant == f.Tenant) &&
		(f.Tag == "" || slices.Contains(job.Tags, f.Tag)) &&
		(f.Batch.IsZero() || job.Batch == f.Batch) &&
		(f.Waits == "" || job.BlockedOn == f.Waits) &&
		(f.Error == "" || strings.Contains(job.Error, f.Error)) &&
		(f.Since.IsZero() || !job.CreatedAt.Before(cut(f.Since))) &&
		(f.Until.IsZero() || job.CreatedAt.Before(cut(f.Until)))
}
