package enqueue

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	wakeBatch = 200 // keys in one call
	wakeTime  = 10 * time.Second
)

// Turns is for making ready who waits for a turn that a moved job let come.
type Turns interface {
	Wake(ctx context.Context, keys []string) (driven.Woken, error)
}

// tell is what follows a write: whoever may go on is woken, and the observer told.
func (c *Client) tell(ctx context.Context, rows []domain.NewJob, done []driven.Inserted) {
	c.free(ctx, done)
	c.notify(c.awaited(rows, done))
	if c.cfg.Observer == nil {
		return
	}
	for i := range rows {
		if done[i].Result == domain.Existing {
			continue
		}
		job := &rows[i]
		e := domain.Event{
			Type: domain.EventEnqueued, Job: done[i].ID, Kind: job.Kind, Queue: job.Queue, Tenant: job.Tenant, Delay: job.Due.After, Batch: job.Batch,
		}
		if done[i].Result != domain.InsertedNew {
			e.Operation = done[i].Result.String()
		}
		c.observe(e)
	}
}

// free wakes the turns of holders that were moved. It is not broken off by the
// caller, who has what it came for; what it does not wake the next sweep does.
func (c *Client) free(ctx context.Context, done []driven.Inserted) {
	var keys []string
	for i := range done {
		keys = append(keys, done[i].Keys...)
	}
	if len(keys) == 0 || c.cfg.Turns == nil {
		return
	}
	slices.Sort(keys)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wakeTime)
	defer cancel()
	for part := range slices.Chunk(slices.Compact(keys), wakeBatch) {
		woken, err := c.cfg.Turns.Wake(ctx, part)
		if err != nil {
			c.observe(domain.Event{Type: domain.EventError, Operation: "wake", Err: err})
			return
		}
		c.notify(woken.Queues)
	}
}

func (c *Client) notify(queues []string) {
	if c.cfg.Wake != nil && len(queues) > 0 {
		c.cfg.Wake.Notify(queues...)
	}
}

// observe tells the observer. One that panics must not fail what was written.
func (c *Client) observe(e domain.Event) {
	if c.cfg.Observer == nil {
		return
	}
	defer func() { _ = recover() }()
	c.cfg.Observer.Observe(e)
}

// anyQueue is the hint where only the store knows which queue a job is in.
const anyQueue = ""

// awaited lists the queues that hold something new, or moved, and due soon. A job
// that was rescheduled may be in another queue than the one that was to be added.
func (c *Client) awaited(rows []domain.NewJob, done []driven.Inserted) []string {
	var queues []string
	for i := range rows {
		queue := rows[i].Queue
		if done[i].Result == domain.Rescheduled {
			queue = anyQueue
		}
		if done[i].Result != domain.Existing && c.dueSoon(rows[i].Due) && !slices.Contains(queues, queue) {
			queues = append(queues, queue)
		}
	}
	return queues
}

func (c *Client) dueSoon(d domain.Due) bool {
	if d.At.IsZero() || c.cfg.Clock == nil {
		return d.After <= soon
	}
	return d.At.Sub(c.cfg.Clock.Now()) <= soon
}
