package mongostore

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// The guards of the edits, on the state.
var (
	notRunning = bson.D{{Key: "$ne", Value: domain.Running}}
	pending    = bson.D{{Key: "$lte", Value: domain.Blocked}}
	live       = bson.D{{Key: "$lte", Value: domain.Running}}
)

// change runs an edit.
func (s *store) change(ctx context.Context, e *edit, build func(now int64)) (out []domain.Edited, err error) {
	if len(e.req.IDs) == 0 {
		return nil, nil
	}
	e.store = s
	err = s.do(ctx, e.op, func(ctx context.Context, now int64) error {
		e.now = now
		build(now)
		out, err = e.run(ctx)
		return err
	})
	return out, err
}

// wait makes a document due as asked.
func (c *change) wait(due domain.Due, now int64) {
	state, runAt, wakeAt := waiting(due, now)
	c.put("state", state)
	c.put("run_at", runAt)
	c.put("wake_at", wakeAt)
}

// Retry takes the unique key again where the document had one. Of two of one
// call with one key the first gets it. After its write it has batches wait again
// whose ends are being counted.
func (s *store) Retry(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	e := &edit{op: "retry", req: req}
	var taken map[string]*row
	e.prepare = func(ctx context.Context, rows []*row) error {
		taken = map[string]*row{}
		return s.retakers(ctx, rows, taken)
	}
	e.judge = func(r *row) (bool, error) {
		lock := r.freed()
		holder := taken[lock]
		switch {
		case !domain.CanMove(domain.ActRetry, r.State, domain.Ready):
			return false, refused(e.op, r)
		case r.ForgetArgs == forgotten:
			return false, clash(e.op, r, "its args were forgotten: enqueue it again")
		case lock != "" && holder != nil && holder.ID != r.ID:
			return false, clash(e.op, r, "its unique key is held by job "+domain.JobID(holder.ID).String())
		}
		taken[lock] = r
		return false, nil
	}
	return s.change(ctx, e, func(now int64) {
		e.write = func(ctx context.Context, rows []*row) (map[key]bool, error) {
			took, err := e.guarded(ctx, rows, retries(rows, req.Due, now), notRunning)
			if err == nil {
				err = s.disturb(ctx, batchesOf(rows))
			}
			return took, err
		}
	})
}

// retakers adds who holds the keys that the documents had.
func (s *store) retakers(ctx context.Context, rows []*row, to map[string]*row) error {
	var locks []string
	for _, r := range rows {
		if lock := r.freed(); lock != "" {
			locks = append(locks, lock)
		}
	}
	for _, part := range chunks(locks, small) {
		if err := s.locks(ctx, part, to); err != nil {
			return err
		}
	}
	return nil
}

// freed is the document's unique key scoped by its tenant, "" for none. That of a
// window it has still.
func (r *row) freed() string {
	if r.UniqueKey == "" || r.WindowLock != "" {
		return ""
	}
	return domain.UniqueLock(r.Tenant, r.UniqueKey)
}

// batchesOf lists the batches of documents, which may be counted just now.
func batchesOf(rows []*row) (ids []key) {
	for _, r := range rows {
		if !r.Batch.IsZero() && !slices.Contains(ids, r.Batch) {
			ids = append(ids, r.Batch)
		}
	}
	return ids
}

// retries writes those that have neither a key nor turns together and each of the
// others by itself.
func retries(rows []*row, due domain.Due, now int64) []group {
	_, runAt, _ := waiting(due, now)
	revived := func() *change {
		c := &change{}
		c.wait(due, now)
		c.drop("attempts", "stalls", "finished_at", "result")
		return c
	}
	plain := group{change: revived()}
	var groups []group
	for _, r := range rows {
		lock := r.freed()
		if lock == "" && r.Turn == domain.NoTurn {
			plain.ids = append(plain.ids, r.ID)
			continue
		}
		own := group{change: revived(), ids: []key{r.ID}}
		if lock != "" {
			own.change.put("unique_lock", lock)
		}
		if r.Turn != domain.NoTurn {
			own.where = r.comeBack(own.change, runAt)
		}
		groups = append(groups, own)
	}
	return append(groups, plain)
}

// Reschedule moves waiting documents.
func (s *store) Reschedule(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	e := &edit{op: "reschedule", req: req}
	e.judge = func(r *row) (bool, error) {
		if !domain.CanMove(domain.ActReschedule, r.State, domain.Scheduled) {
			return false, refused(e.op, r)
		}
		return false, nil
	}
	return s.change(ctx, e, func(now int64) {
		e.write = func(ctx context.Context, rows []*row) (map[key]bool, error) {
			return e.guarded(ctx, rows, moves(rows, req.Due, now), pending)
		}
	})
}

// moves writes those with turns apart from the others.
func moves(rows []*row, due domain.Due, now int64) []group {
	_, runAt, _ := waiting(due, now)
	groups := make([]group, 2)
	for i := range groups {
		c := &change{}
		c.wait(due, now)
		c.put("due_at", runAt)
		groups[i].change = c
	}
	groups[1].change.put("place", runAt)
	for _, r := range rows {
		g := &groups[0]
		if r.Turn != domain.NoTurn {
			g = &groups[1]
		}
		g.ids = append(g.ids, r.ID)
	}
	return groups
}

// Cancel keeps each document as long as it asks for itself, else as the request says.
// One that runs is guarded by the token that was read beside its state. What its claim
// holds is left to its runner or to a sweep.
func (s *store) Cancel(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	e := &edit{op: "cancel", req: req, ends: true}
	e.judge = func(r *row) (bool, error) {
		switch {
		case r.State == domain.Cancelled:
			return true, nil
		case domain.CanMove(domain.ActCancel, r.State, domain.Cancelled):
			return false, nil
		}
		return false, refused(e.op, r)
	}
	return s.change(ctx, e, func(now int64) {
		e.write = func(ctx context.Context, rows []*row) (map[key]bool, error) {
			return e.guarded(ctx, rows, cancels(rows, req.Keep, now), live)
		}
	})
}

// cancels groups documents by how long they stay and by the claim that they are under.
func cancels(rows []*row, def time.Duration, now int64) (groups []group) {
	type alike struct {
		until int64
		token key // zero: it waits
	}
	at := map[alike]int{}
	for _, r := range rows {
		k := alike{expiry(now, r.keep(domain.Cancelled, domain.Retention{Cancelled: def})), r.Token}
		i, there := at[k]
		if !there {
			i = len(groups)
			at[k] = i
			c := &change{}
			c.put("state", domain.Cancelled)
			c.drop("token", "stuck")
			c.end(now, k.until)
			c.leave()
			groups = append(groups, group{change: c, where: underToken(k.token)})
		}
		groups[i].ids = append(groups[i].ids, r.ID)
	}
	return groups
}

// underToken chooses documents that are claimed under a token or, with none, that are not.
func underToken(token key) bson.D {
	if token.IsZero() {
		return bson.D{noToken}
	}
	return bson.D{{Key: "token", Value: token}}
}

// Delete removes documents. One that somebody else removed since the look is gone as asked.
func (s *store) Delete(ctx context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	e := &edit{op: "delete", req: req, ends: true}
	e.judge = func(r *row) (bool, error) {
		if r.State == domain.Running {
			return false, refused(e.op, r)
		}
		return false, nil
	}
	return s.change(ctx, e, func(int64) {
		e.write = func(ctx context.Context, rows []*row) (map[key]bool, error) { return e.remove(ctx, pointerIDs(rows)) }
	})
}

// remove deletes documents that are still as they were judged and gives those that are gone.
func (e *edit) remove(ctx context.Context, ids []key) (map[key]bool, error) {
	gone := make(map[key]bool, len(ids))
	for _, part := range chunks(ids, small) {
		for _, id := range part {
			gone[id] = true
		}
		res, err := e.jobs.DeleteMany(ctx, e.guard(part, notRunning))
		if err != nil {
			return nil, err
		}
		if res.DeletedCount == int64(len(part)) {
			continue
		}
		left, err := readAll(ctx, e.jobs, bson.D{among(part)}, onlyIDs())
		if err != nil {
			return nil, err
		}
		for i := range left {
			delete(gone, left[i].ID)
		}
	}
	return gone, nil
}

func pointerIDs(rows []*row) []key {
	ids := make([]key, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}
