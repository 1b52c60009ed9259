package mongostore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/rowlock/rowlock/domain"
)

// sums collects the lines of a Stats.
type sums struct {
	lines map[pair]*domain.Line
	exact bool
	now   int64
}

type pair struct{ queue, kind string }

// count is one group of documents.
type count struct {
	By struct {
		Queue string       `bson:"queue"`
		Kind  string       `bson:"kind"`
		State domain.State `bson:"state"`
		Later bool         `bson:"later"` // not due yet
	} `bson:"_id"`
	N      int64 `bson:"n"`
	Stuck  int64 `bson:"stuck"`
	Min    int64 `bson:"min"`
	Max    int64 `bson:"max"`
	Sum    int64 `bson:"sum"`
	Oldest int64 `bson:"oldest"`
}

// Stats groups at most limit documents of each state. Where more are ready or
// scheduled, a busy queue would hide the others: then each queue and kind is
// counted by itself, found by a loose scan.
func (s *store) Stats(ctx context.Context, tenant string, limit int) (stats domain.Stats, err error) {
	m := &sums{lines: map[pair]*domain.Line{}, exact: true}
	err = s.do(ctx, "stats", func(ctx context.Context, now int64) error {
		m.now = now
		if tenant != "" {
			return s.tenantStats(ctx, m, tenant, limit)
		}
		for _, state := range domain.States() {
			if err := s.stateStats(ctx, m, state, limit); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return domain.Stats{}, err
	}
	return m.stats(), nil
}

// tenantStats looks at the newest documents of the tenant, so many that each state may have its cap.
func (s *store) tenantStats(ctx context.Context, m *sums, tenant string, limit int) error {
	limit *= len(domain.States())
	groups, err := s.group(ctx, bson.D{{Key: "tenant", Value: tenant}}, bson.D{{Key: "_id", Value: -1}}, limit, m.now)
	m.addUpTo(groups, limit)
	return err
}

func (s *store) stateStats(ctx context.Context, m *sums, state domain.State, limit int) error {
	where, sort := bson.D{{Key: "state", Value: state}}, bson.D{{Key: "wake_at", Value: -1}}
	if state == domain.Ready {
		where, sort = append(where, bson.E{Key: "queue", Value: anyQueue}), nil
	}
	groups, err := s.group(ctx, where, sort, limit, m.now)
	if err != nil {
		return err
	}
	if total(groups) <= int64(limit) || state > domain.Scheduled {
		m.addUpTo(groups, limit)
		return nil
	}
	return s.pairStats(ctx, m, state, limit)
}

// pairStats counts a state by queue and kind.
func (s *store) pairStats(ctx context.Context, m *sums, state domain.State, limit int) error {
	in := bson.D{{Key: "state", Value: state}}
	queues, err := s.names(ctx, "queue", in, "", pairBound)
	if err != nil {
		return err
	}
	for _, queue := range queues {
		inQueue := append(slices.Clone(in), bson.E{Key: "queue", Value: queue})
		kinds, err := s.names(ctx, "kind", inQueue, "", pairBound)
		if err != nil {
			return err
		}
		for _, kind := range kinds {
			groups, err := s.group(ctx, append(slices.Clone(inQueue), bson.E{Key: "kind", Value: kind}), nil, limit, m.now)
			if err != nil {
				return err
			}
			m.addUpTo(groups, limit)
		}
	}
	return nil
}

// group counts at most limit documents and one more, to know whether that was all.
func (s *store) group(ctx context.Context, where, sort bson.D, limit int, now int64) (groups []count, err error) {
	pipeline := bson.A{bson.D{{Key: "$match", Value: where}}}
	if sort != nil {
		pipeline = append(pipeline, bson.D{{Key: "$sort", Value: sort}})
	}
	sum := func(of any) bson.D { return bson.D{{Key: "$sum", Value: of}} }
	pipeline = append(pipeline, bson.D{{Key: "$limit", Value: int64(limit) + 1}}, bson.D{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: bson.D{
			{Key: "queue", Value: "$queue"},
			{Key: "kind", Value: "$kind"},
			{Key: "state", Value: "$state"},
			{Key: "later", Value: bson.D{{Key: "$gt", Value: bson.A{"$run_at", now}}}},
		}},
		{Key: "n", Value: sum(1)},
		{Key: "stuck", Value: sum("$stuck")},
		{Key: "sum", Value: sum("$ran")},
		{Key: "min", Value: bson.D{{Key: "$min", Value: "$ran"}}},
		{Key: "max", Value: bson.D{{Key: "$max", Value: "$ran"}}},
		{Key: "oldest", Value: bson.D{{Key: "$min", Value: "$run_at"}}},
	}}})
	cursor, err := s.jobs.Aggregate(ctx, pipeline)
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &groups)
	return groups, err
}

func total(groups []count) (n int64) {
	for i := range groups {
		n += groups[i].N
	}
	return n
}

// addUpTo adds groups, cut where they are more than the limit in all.
func (m *sums) addUpTo(groups []count, limit int) {
	left := int64(limit)
	for i := range groups {
		if groups[i].N > left {
			groups[i].N, m.exact = left, false
		}
		left -= groups[i].N
		m.add(&groups[i])
	}
}

// add puts one group into its line.
func (m *sums) add(g *count) {
	at := pair{g.By.Queue, g.By.Kind}
	l := m.lines[at]
	if l == nil {
		l = &domain.Line{Queue: at.queue, Kind: at.kind, Oldest: domain.NoneDue}
		m.lines[at] = l
	}
	switch state := g.By.State; {
	case state == domain.Scheduled && g.By.Later:
		l.Tally.Scheduled += g.N
	case state <= domain.Scheduled:
		l.Tally.Due += g.N
		l.Oldest = max(l.Oldest, span(m.now-g.Oldest), 0)
	default:
		l.Tally = l.Tally.Add(tallyOf(state, g))
		if state == domain.Done {
			l.Timings = timed(l.Timings, g)
		}
	}
}

func tallyOf(state domain.State, g *count) domain.Tally {
	switch state {
	case domain.Blocked:
		return domain.Tally{Blocked: g.N}
	case domain.Running:
		return domain.Tally{Running: g.N, Stuck: g.Stuck}
	case domain.Done:
		return domain.Tally{Done: g.N}
	case domain.Dead:
		return domain.Tally{Dead: g.N}
	case domain.Cancelled:
		return domain.Tally{Cancelled: g.N}
	default: // add has the others
		return domain.Tally{}
	}
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// timed adds the runs of a group; one line may have several.
func timed(t domain.Timings, g *count) domain.Timings {
	least, most := micros(g.Min), micros(g.Max)
	if t.Runs > 0 {
		least, most = min(t.Min, least), max(t.Max, most)
	}
	return domain.Timings{Runs: t.Runs + g.N, Min: least, Max: most, Total: t.Total + micros(g.Sum)}
}

func (m *sums) stats() domain.Stats {
	out := domain.Stats{Exact: m.exact}
	for l := range maps.Values(m.lines) {
		out.Lines = append(out.Lines, *l)
	}
	slices.SortFunc(out.Lines, func(a, b domain.Line) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}
