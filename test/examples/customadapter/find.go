package customadapter

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func (s *store) Job(ctx context.Context, id domain.JobID, tenant string) (job domain.Job, err error) {
	const op = "get job"
	err = s.do(ctx, op, func(t *tx) error {
		r, err := t.get(op, id, tenant)
		job = copyOf(r.Job)
		return err
	})
	return job, err
}

func (s *store) Jobs(ctx context.Context, f domain.Filter, p domain.Page) (jobs []domain.Job, err error) {
	err = s.do(ctx, "list jobs", func(t *tx) error {
		for _, r := range t.page(f, p) {
			jobs = append(jobs, copyOf(r.Job))
		}
		return nil
	})
	return jobs, err
}

func (s *store) Match(ctx context.Context, f domain.Filter, p domain.Page) (ids []domain.JobID, err error) {
	err = s.do(ctx, "match jobs", func(t *tx) error {
		for _, r := range t.page(f, p) {
			ids = append(ids, r.ID)
		}
		return nil
	})
	return ids, err
}

func (t *tx) page(f domain.Filter, p domain.Page) []record {
	found := t.pick(func(r *record) bool {
		return (p.Before.IsZero() || r.ID.Compare(p.Before) < 0) && matches(f, &r.Job)
	}, newestFirst)
	return found[:min(cmp.Or(p.Size, domain.DefaultPage), len(found))]
}

func (s *store) Count(ctx context.Context, f domain.Filter, limit int) (n int, exact bool, err error) {
	err = s.do(ctx, "count jobs", func(t *tx) error {
		n = len(t.pick(func(r *record) bool { return matches(f, &r.Job) }, byAge))
		return nil
	})
	return min(n, limit), err == nil && n <= limit, err
}

func matches(f domain.Filter, j *domain.Job) bool {
	return (len(f.States) == 0 || slices.Contains(f.States, j.State)) &&
		(f.Queue == "" || f.Queue == j.Queue) &&
		(f.Kind == "" || f.Kind == j.Kind) &&
		(f.Tenant == "" || f.Tenant == j.Tenant) &&
		(f.Tag == "" || slices.Contains(j.Tags, f.Tag)) &&
		(f.Batch.IsZero() || f.Batch == j.Batch) &&
		(f.Waits == "" || f.Waits == j.BlockedOn) &&
		strings.Contains(j.Error, f.Error) &&
		(f.Since.IsZero() || !j.CreatedAt.Before(cut(f.Since))) &&
		(f.Until.IsZero() || j.CreatedAt.Before(cut(f.Until)))
}

// Stats has all jobs in memory anyway; it still keeps to the limit of each state.
func (s *store) Stats(ctx context.Context, tenant string, limit int) (stats domain.Stats, err error) {
	err = s.do(ctx, "count states", func(t *tx) error {
		stats.Exact = true
		var seen [7]int
		for _, r := range t.pick(func(r *record) bool { return tenant == "" || r.Tenant == tenant }, byDue) {
			if seen[r.State]++; seen[r.State] > limit {
				stats.Exact = false
				continue
			}
			stats.Lines = count(stats.Lines, &r, t.now)
		}
		return nil
	})
	slices.SortFunc(stats.Lines, func(a, b domain.Line) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind))
	})
	return stats, err
}

func byDue(a, b record) int { return cmp.Or(a.RunAt.Compare(b.RunAt), a.ID.Compare(b.ID)) }

// count adds one job to the line of its queue and kind.
func count(lines []domain.Line, r *record, now time.Time) []domain.Line {
	i := slices.IndexFunc(lines, func(l domain.Line) bool { return l.Queue == r.Queue && l.Kind == r.Kind })
	if i < 0 {
		i, lines = len(lines), append(lines, domain.Line{Queue: r.Queue, Kind: r.Kind, Oldest: domain.NoneDue})
	}
	l := &lines[i]
	switch {
	case r.State == domain.Blocked:
		l.Tally.Blocked++
	case r.State.Pending() && r.RunAt.After(now):
		l.Tally.Scheduled++
	case r.State.Pending():
		l.Tally.Due++
		l.Oldest = max(l.Oldest, now.Sub(r.RunAt))
	case r.State == domain.Running:
		l.Tally.Running++
		if r.Stuck {
			l.Tally.Stuck++
		}
	case r.State == domain.Dead:
		l.Tally.Dead++
	case r.State == domain.Cancelled:
		l.Tally.Cancelled++
	case r.State == domain.Done:
		l.Tally.Done++
		l.Timings = timed(l.Timings, r.Ran)
	}
	return lines
}

func timed(t domain.Timings, ran time.Duration) domain.Timings {
	if t.Runs == 0 {
		t.Min = ran
	}
	return domain.Timings{Runs: t.Runs + 1, Min: min(t.Min, ran), Max: max(t.Max, ran), Total: t.Total + ran}
}
