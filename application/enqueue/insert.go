package enqueue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// soon is how far ahead a job may be due and still wake its queue, so that a
// runner learns when to look again.
const soon = time.Minute

// Add writes jobs whose args are JSON already, byte-exact.
func (c *Client) Add(ctx context.Context, jobs []domain.NewJob) ([]driving.Added, error) {
	rows := slices.Clone(jobs)
	for i := range rows {
		if err := c.admit(ctx, &rows[i]); err != nil {
			return nil, at(i, len(rows), err)
		}
	}
	done, err := c.insert(ctx, rows, nil)
	if err != nil {
		return nil, err
	}
	added := make([]driving.Added, len(done))
	for i, d := range done {
		added[i] = driving.Added{ID: d.ID, Result: d.Result}
	}
	return added, nil
}

// Check judges a job as Add does and writes nothing.
func (c *Client) Check(ctx context.Context, job domain.NewJob) error { return c.admit(ctx, &job) }

func (c *Client) admit(ctx context.Context, job *domain.NewJob) (err error) {
	if job.Queue == "" {
		job.Queue = DefaultQueue
	}
	if job.Tenant, err = tenantFor(ctx, job.Tenant, job.Tenant != ""); err != nil {
		return err
	}
	return c.complete(job)
}

// known refuses a kind that a registry with kinds does not know.
func (c *Client) known(what, kind string) error {
	if c.cfg.Registry == nil {
		return nil
	}
	if _, ok := c.cfg.Registry.Find(kind); ok {
		return nil
	}
	kinds := c.cfg.Registry.Kinds()
	if len(kinds) == 0 {
		return nil
	}
	return unknown(what, kind, kinds)
}

func unknown(what, kind string, kinds []string) error {
	const most = 20
	more := ""
	if extra := len(kinds) - most; extra > 0 {
		kinds, more = kinds[:most], fmt.Sprintf(" and %d more", extra)
	}
	return &domain.Fault{
		Code: domain.Invalid, Op: "enqueue", Subject: domain.CleanText(kind, domain.MaxKind),
		Hint: "no handler of this " + what + " is registered; known are " + strings.Join(kinds, ", ") + more,
	}
}

// insert is the one write. What follows it, events and wake-ups, cannot fail it.
func (c *Client) insert(ctx context.Context, rows []domain.NewJob, tx driven.HostTx) ([]driven.Inserted, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	store := c.cfg.Store
	if tx != nil {
		if c.cfg.Tx == nil {
			return nil, &domain.Fault{Code: domain.Unsupported, Op: "enqueue", Subject: "In", Hint: "this store cannot write in the host's transaction"}
		}
		bound, err := c.cfg.Tx.Bind(tx)
		if err != nil {
			return nil, err
		}
		store = bound
	}
	done, err := store.Insert(ctx, rows)
	if err != nil {
		return nil, err
	}
	if len(done) != len(rows) {
		return nil, &domain.Fault{Code: domain.Internal, Op: "enqueue", Hint: fmt.Sprintf("the store answered %d of %d rows", len(done), len(rows))}
	}
	if tx != nil {
		c.probe.start(c.awaited(rows, done))
		return done, nil
	}
	c.tell(ctx, rows, done)
	return done, nil
}
