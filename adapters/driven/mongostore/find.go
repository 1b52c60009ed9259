package mongostore

import (
	"context"
	"regexp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
)

// onlyIDs reads nothing but ids.
func onlyIDs() *options.FindOptionsBuilder {
	return options.Find().SetBatchSize(writeBound).SetProjection(bson.D{{Key: "_id", Value: 1}})
}

// Job reads one document.
func (s *store) Job(ctx context.Context, id domain.JobID, tenant string) (job domain.Job, err error) {
	const op = "get job"
	err = s.look(ctx, op, func(ctx context.Context) error {
		filter := bson.D{{Key: "_id", Value: key(id)}}
		if tenant != "" {
			filter = append(filter, bson.E{Key: "tenant", Value: tenant})
		}
		var r row
		err := s.jobs.FindOne(ctx, filter).Decode(&r)
		if isNone(err) {
			return notFound(op, id)
		}
		job = r.job()
		job.Keys = r.turnKeys()
		return err
	})
	if err != nil {
		return domain.Job{}, err
	}
	return job, nil
}

// turnKeys are the keys of its turns as they were asked for.
func (r *row) turnKeys() (keys []string) {
	for _, stored := range r.Keys {
		if k, ok := domain.ParseBoundKey(stored); ok {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

// Jobs reads one page.
func (s *store) Jobs(ctx context.Context, f domain.Filter, p domain.Page) (jobs []domain.Job, err error) {
	rows, err := s.page(ctx, "list jobs", f, p, options.Find())
	for i := range rows {
		jobs = append(jobs, rows[i].job())
	}
	return jobs, err
}

// Match reads the ids of one page.
func (s *store) Match(ctx context.Context, f domain.Filter, p domain.Page) (ids []domain.JobID, err error) {
	rows, err := s.page(ctx, "match jobs", f, p, onlyIDs())
	for i := range rows {
		ids = append(ids, domain.JobID(rows[i].ID))
	}
	return ids, err
}

// page reads documents, newest id first.
func (s *store) page(ctx context.Context, op string, f domain.Filter, p domain.Page, opts *options.FindOptionsBuilder) (rows []row, err error) {
	if p.Size <= 0 {
		p.Size = domain.DefaultPage
	}
	filter := chosen(f)
	if !p.Before.IsZero() {
		filter = append(filter, bson.E{Key: "_id", Value: bson.D{{Key: "$lt", Value: key(p.Before)}}})
	}
	err = s.look(ctx, op, func(ctx context.Context) error {
		rows, err = readAll(ctx, s.jobs, filter, opts.SetSort(bson.D{{Key: "_id", Value: -1}}).SetLimit(int64(p.Size)))
		return err
	})
	return rows, err
}

// Count counts one beyond the limit, to know whether there are more. Ready
// documents are in another index than the rest, so they are counted apart.
func (s *store) Count(ctx context.Context, f domain.Filter, limit int) (n int, exact bool, err error) {
	err = s.look(ctx, "count jobs", func(ctx context.Context) error {
		parts := []domain.Filter{f}
		if others := slices.DeleteFunc(slices.Clone(f.States), isReady); len(others) > 0 && len(others) < len(f.States) {
			parts = []domain.Filter{f, f}
			parts[0].States, parts[1].States = []domain.State{domain.Ready}, others
		}
		for _, part := range parts {
			found, err := s.jobs.CountDocuments(ctx, chosen(part), options.Count().SetLimit(int64(limit-n)+1))
			if err != nil {
				return err
			}
			if n += int(found); n > limit {
				break
			}
		}
		n, exact = min(n, limit), n <= limit
		return nil
	})
	return n, exact, err
}

func isReady(state domain.State) bool { return state == domain.Ready }

// anyQueue holds for every document: no name is empty. The index `ready` begins
// with the queue, so a filter on ready documents that does not name it has no index.
var anyQueue = bson.D{{Key: "$gt", Value: ""}}

// chosen is the filter as the server takes it.
func chosen(f domain.Filter) bson.D {
	filter := bson.D{}
	add := func(set bool, name string, value any) {
		if set {
			filter = append(filter, bson.E{Key: name, Value: value})
		}
	}
	add(len(f.States) > 0, "state", oneOf(f.States).Value)
	add(f.Queue != "", "queue", f.Queue)
	add(f.Queue == "" && len(f.States) == 1 && isReady(f.States[0]), "queue", anyQueue)
	add(f.Kind != "", "kind", f.Kind)
	add(f.Tenant != "", "tenant", f.Tenant)
	add(f.Tag != "", "tags", f.Tag)
	add(!f.Batch.IsZero(), "batch_id", key(f.Batch))
	add(f.Waits != "" && len(f.States) == 0, "state", domain.Blocked) // as the index `blocked` has it
	add(f.Waits != "", "blocked_on", f.Waits)
	add(f.Error != "", "error", bson.Regex{Pattern: regexp.QuoteMeta(f.Error)})
	made := bson.D{}
	if !f.Since.IsZero() {
		made = append(made, bson.E{Key: "$gte", Value: f.Since.UnixMilli()})
	}
	if !f.Until.IsZero() {
		made = append(made, bson.E{Key: "$lt", Value: f.Until.UnixMilli()})
	}
	add(len(made) > 0, "created_at", made)
	return filter
}

// oneOf chooses documents of some states.
func oneOf(states []domain.State) bson.E {
	list := make(bson.A, len(states)) // a list of numbers of one byte would be written as binary
	for i, state := range states {
		list[i] = state
	}
	return bson.E{Key: "state", Value: bson.D{{Key: "$in", Value: list}}}
}
