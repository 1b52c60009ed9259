package mongostore

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// editTries bounds how often documents are judged again that moved between the
// look and the write.
const editTries = 6

var editFields = bson.D{
	{Key: "state", Value: 1},
	{Key: "token", Value: 1},
	{Key: "tenant", Value: 1},
	{Key: "runner", Value: 1},
	{Key: "unique_key", Value: 1},
	{Key: "window_lock", Value: 1},
	{Key: "batch_id", Value: 1},
	{Key: "todo", Value: 1},
	{Key: "forget_args", Value: 1},
	{Key: "keep_cancelled", Value: 1},
	{Key: "turn", Value: 1},
	{Key: "due_at", Value: 1},
	{Key: "keys", Value: 1},
}

// edit is one operator's call: it looks, judges each document, and writes those
// that may be changed under a guard that says so again. What a write did not
// find as it was is looked at once more.
type edit struct {
	*store
	op      string
	req     driven.EditRequest
	judge   func(*row) (done bool, refusal error)
	prepare func(context.Context, []*row) error // before the judging; may be nil
	write   func(context.Context, []*row) (took map[key]bool, err error)
	now     int64
	ends    bool          // it makes jobs terminal, or removes them
	answers map[key]error // nil: done
	turns   map[key][]string
	ended   map[key]domain.BatchID // those that it ended, and their batch
}

// run answers for every id, in order.
func (e *edit) run(ctx context.Context) ([]domain.Edited, error) {
	e.answers, e.turns, e.ended = make(map[key]error, len(e.req.IDs)), map[key][]string{}, map[key]domain.BatchID{}
	todo := e.ids()
	for try := 0; len(todo) > 0; try++ {
		if try == editTries {
			return nil, &domain.Fault{Code: domain.Contended, Op: e.op, Hint: "the jobs keep moving: try again"}
		}
		rows, err := e.look(ctx, todo)
		if err != nil {
			return nil, err
		}
		if todo, err = e.pass(ctx, rows); err != nil {
			return nil, err
		}
	}
	out := make([]domain.Edited, len(e.req.IDs))
	for i, id := range e.req.IDs {
		if out[i] = (domain.Edited{ID: id, Err: e.answers[key(id)]}); out[i].Err == nil {
			out[i].Keys, out[i].Batch = e.turns[key(id)], e.ended[key(id)]
		}
	}
	return out, nil
}

// ids are those asked for, each once.
func (e *edit) ids() (ids []key) {
	seen := make(map[key]bool, len(e.req.IDs))
	for _, id := range e.req.IDs {
		if !seen[key(id)] {
			ids = append(ids, key(id))
		}
		seen[key(id)] = true
	}
	return ids
}

// look reads the documents, in the order of the ids, and answers for those that are not there.
func (e *edit) look(ctx context.Context, ids []key) ([]*row, error) {
	found := make(map[key]*row, len(ids))
	for _, part := range chunks(ids, small) {
		filter := bson.D{among(part)}
		if e.req.Tenant != "" {
			filter = append(filter, bson.E{Key: "tenant", Value: e.req.Tenant})
		}
		rows, err := readAll(ctx, e.jobs, filter, options.Find().SetBatchSize(writeBound).SetProjection(editFields))
		if err != nil {
			return nil, err
		}
		for i := range rows {
			found[rows[i].ID] = &rows[i]
			if rows[i].Todo != nil { // before there is another death, or none any more
				if err := e.redo(ctx, e.now, bson.E{Key: "_id", Value: rows[i].ID}); err != nil {
					return nil, err
				}
			}
		}
	}
	var rows []*row
	for _, id := range ids {
		if r := found[id]; r != nil {
			rows = append(rows, r)
			e.turns[id] = r.Keys
		} else {
			e.answers[id] = notFound(e.op, domain.JobID(id))
		}
	}
	return rows, nil
}

// pass judges and writes, and gives the ids that moved meanwhile.
func (e *edit) pass(ctx context.Context, rows []*row) (again []key, err error) {
	if e.prepare != nil {
		if err := e.prepare(ctx, rows); err != nil {
			return nil, err
		}
	}
	var fit []*row
	for _, r := range rows {
		done, refusal := e.meant(r)
		if e.answers[r.ID] = refusal; refusal == nil && !done {
			fit = append(fit, r)
		}
	}
	if len(fit) == 0 {
		return nil, nil
	}
	took, err := e.write(ctx, fit)
	if err != nil {
		return nil, err
	}
	for _, r := range fit {
		switch {
		case !took[r.ID]:
			again = append(again, r.ID)
		case e.ends && !r.State.Terminal():
			e.ended[r.ID] = domain.BatchID(r.Batch)
		}
	}
	return again, nil
}

// meant refuses a document that left the states that the caller saw.
func (e *edit) meant(r *row) (done bool, refusal error) {
	if len(e.req.States) > 0 && !slices.Contains(e.req.States, r.State) {
		return false, refused(e.op, r)
	}
	return e.judge(r)
}

// guard chooses documents that are still as they were judged.
func (e *edit) guard(ids []key, states bson.D) bson.D {
	filter := bson.D{among(ids), {Key: "state", Value: states}}
	if len(e.req.States) > 0 {
		filter = bson.D{among(ids), {Key: "$and", Value: bson.A{bson.D{{Key: "state", Value: states}}, bson.D{oneOf(e.req.States)}}}}
	}
	return filter
}

// guarded writes one change to documents of the given states, marked, and gives those it changed.
func (e *edit) guarded(ctx context.Context, rows []*row, groups []group, states bson.D) (map[key]bool, error) {
	mark := newMark()
	var writes []mongo.WriteModel
	for _, g := range groups {
		g.change.put("mark", mark)
		g.change.drop("blocked_on")
		for _, part := range chunks(g.ids, small) {
			filter := append(e.guard(part, states), bson.E{Key: "forget_args", Value: bson.D{{Key: "$ne", Value: forgotten}}})
			filter = append(filter, g.where...)
			if len(part) == 1 { // an update of one can be repeated by the driver
				writes = append(writes, mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(g.change.update()))
			} else {
				writes = append(writes, mongo.NewUpdateManyModel().SetFilter(filter).SetUpdate(g.change.update()))
			}
		}
	}
	t, err := e.bulk(ctx, e.jobs, writes)
	if err != nil {
		return nil, err
	}
	ids := make([]key, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	took, err := e.written(ctx, t, ids, mark)
	if err == nil && len(took) < len(ids) && t.contended != nil {
		err = t.contended
	}
	return took, err
}

// group is a change and the documents that get it, if what it was made from is still so.
type group struct {
	change *change
	ids    []key
	where  bson.D
}

func notFound(op string, id domain.JobID) error {
	return &domain.Fault{Code: domain.NotFound, Op: op, Subject: id.String(), Hint: "there is no such job"}
}

func clash(op string, r *row, hint string) error {
	return &domain.Fault{Code: domain.Conflict, Op: op, Subject: domain.JobID(r.ID).String(), Hint: hint}
}

// refused says that the job's state forbids it.
func refused(op string, r *row) error {
	if r.State == domain.Running {
		return clash(op, r, "it runs on runner "+domain.CleanText(r.Runner, domain.MaxRunner))
	}
	return clash(op, r, "it is "+r.State.String())
}
