package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Stats looks at up to limit rows of each state, those that waited longest first.
func (s *store) Stats(ctx context.Context, tenant string, limit int) (stats domain.Stats, err error) {
	const op = "count states"
	err = s.do(ctx, op, func(now time.Time) error {
		lines := map[line]*domain.Line{}
		stats.Exact = true
		for _, rows := range s.states {
			n := 0
			err := scan(ctx, op, rows.up(), func(r *row) bool {
				if tenant != "" && r.Tenant != tenant {
					return true
				}
				if n++; n > limit {
					stats.Exact = false
					return false
				}
				lineOf(lines, r).add(r, now)
				return true
			})
			if err != nil {
				return err
			}
		}
		stats.Lines = sortLines(lines)
		return nil
	})
	return stats, err
}

func lineOf(lines map[line]*domain.Line, r *row) *tally {
	at := line{r.Queue, r.Kind}
	if lines[at] == nil {
		lines[at] = &domain.Line{Queue: r.Queue, Kind: r.Kind, Oldest: domain.NoneDue}
	}
	return (*tally)(lines[at])
}

func sortLines(lines map[line]*domain.Line) []domain.Line {
	var all []domain.Line
	for _, at := range slices.SortedFunc(maps.Keys(lines), func(a, b line) int {
		return cmp.Or(cmp.Compare(a.queue, b.queue), cmp.Compare(a.kind, b.kind))
	}) {
		all = append(all, *lines[at])
	}
	return all
}

// tally counts rows into a line.
type tally domain.Line

func (t *tally) add(r *row, now time.Time) {
	switch r.State {
	case domain.Ready, domain.Scheduled:
		t.waiting(r, now)
	case domain.Blocked:
		t.Tally.Blocked++
	case domain.Running:
		t.Tally.Running++
		if r.Stuck {
			t.Tally.Stuck++
		}
	case domain.Done:
		t.Tally.Done++
		t.ran(r.Ran)
	case domain.Dead:
		t.Tally.Dead++
	case domain.Cancelled:
		t.Tally.Cancelled++
	}
}

func (t *tally) waiting(r *row, now time.Time) {
	if r.State == domain.Scheduled && r.RunAt.After(now) {
		t.Tally.Scheduled++
		return
	}
	t.Tally.Due++
	t.Oldest = max(t.Oldest, now.Sub(r.RunAt))
}

func (t *tally) ran(d time.Duration) {
	if t.Timings.Runs == 0 || d < t.Timings.Min {
		t.Timings.Min = d
	}
	t.Timings.Runs++
	t.Timings.Max = max(t.Timings.Max, d)
	t.Timings.Total += d
}
