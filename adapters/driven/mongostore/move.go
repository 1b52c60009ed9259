package mongostore

import (
	"context"
	"maps"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/rowlock/rowlock/domain"
)

// move is a waiting holder of a unique key that rows of an Insert replace or
// reschedule: one guarded write for all of them.
type move struct {
	holder *row
	rows   []int // those that meet it, in order: the last word counts
}

// take changes a row that is not written yet as a later one of its call wants.
func (r *row) take(n *row, how domain.OnConflict) {
	r.State, r.RunAt, r.WakeAt, r.DueAt = n.State, n.RunAt, n.WakeAt, n.RunAt
	if r.Place != nil {
		place := n.RunAt
		r.Place = &place
	}
	if how != domain.Replace {
		return
	}
	r.Kind, r.Queue, r.Priority, r.MaxAttempts, r.Timeout = n.Kind, n.Queue, n.Priority, n.MaxAttempts, n.Timeout
	r.Args, r.Tags, r.Meta, r.ForgetArgs = n.Args, n.Tags, n.Meta, n.ForgetArgs
	r.KeepDone, r.KeepDead, r.KeepCancelled = n.KeepDone, n.KeepDead, n.KeepCancelled
	r.LimitKey, r.FailureKind = n.LimitKey, n.FailureKind
}

// update is what the rows make of the holder. Its turns, which never change, say
// whether it has a place to take anew.
func (m *move) update(in *intake, mark key) bson.D {
	var ch change
	for i := len(m.rows) - 1; i >= 0; i-- {
		if in.policy(m.rows[i]) == domain.Replace {
			ch.takeAll(&in.rows[m.rows[i]])
			break
		}
	}
	last := &in.rows[m.rows[len(m.rows)-1]]
	ch.put("state", last.State)
	ch.put("run_at", last.RunAt)
	ch.put("due_at", last.RunAt)
	ch.put("wake_at", last.WakeAt)
	ch.put("mark", mark)
	ch.drop("blocked_on")
	if m.holder.Turn != domain.NoTurn {
		ch.put("place", last.RunAt)
	}
	return ch.update()
}

// takeAll sets what a replaced job has of the new one.
func (c *change) takeAll(n *row) {
	c.put("kind", n.Kind)
	c.put("queue", n.Queue)
	c.put("priority", n.Priority)
	c.put("args", n.Args)
	c.drop("attempts", "stalls")
	c.number("max_attempts", int64(n.MaxAttempts))
	c.number("timeout", n.Timeout)
	c.number("forget_args", int64(n.ForgetArgs))
	c.number("keep_done", n.KeepDone)
	c.number("keep_dead", n.KeepDead)
	c.number("keep_cancelled", n.KeepCancelled)
	c.text("limit_key", n.LimitKey)
	c.text("failure_kind", n.FailureKind)
	c.text("meta", n.Meta)
	if len(n.Tags) > 0 {
		c.put("tags", n.Tags)
	} else {
		c.drop("tags")
	}
}

// move changes holders that still wait with their key, and says whether some did
// not: then the rows are judged again. In a transaction that ends it: what was
// looked up in it is not what is there.
func (s *store) move(ctx context.Context, in *intake) (again bool, err error) {
	if len(in.moves) == 0 {
		return false, nil
	}
	mark := newMark()
	writes, ids := make([]mongo.WriteModel, len(in.moves)), make([]key, len(in.moves))
	for i, m := range in.moves {
		filter := bson.D{{Key: "_id", Value: m.holder.ID}, {Key: "state", Value: pending}, {Key: lockField(m.holder.lock()), Value: m.holder.lock()}}
		writes[i], ids[i] = mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(m.update(in, mark)), m.holder.ID
	}
	t, err := s.bulk(ctx, s.jobs, writes)
	if err == nil {
		err = t.fault()
	}
	if err != nil || withSession(ctx) {
		return t.matched < int64(len(ids)), err
	}
	took, err := s.written(ctx, t, ids, mark)
	maps.Copy(in.moved, took)
	return len(took) < len(ids), err
}

// lockField is where a document has a unique key: that of a window is apart, for
// the write that ends a job frees the other without a look at it.
func lockField(lock string) string {
	if domain.KeptLock(lock) {
		return "window_lock"
	}
	return "unique_lock"
}

// lock is the unique key that the document holds, "" for none.
func (r *row) lock() string { return r.UniqueLock + r.WindowLock }
