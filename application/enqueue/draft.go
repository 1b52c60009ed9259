package enqueue

import (
	"context"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Draft is an EnqueueMany that was judged and not yet written.
type Draft struct {
	client *Client
	rows   []domain.NewJob
	tx     driven.HostTx
}

// Draft judges all items as EnqueueMany does, and writes nothing.
func (c *Client) Draft(ctx context.Context, items []Item) (*Draft, error) {
	d := &Draft{client: c, rows: make([]domain.NewJob, len(items))}
	for i, item := range items {
		req, err := c.build(ctx, item.Args, item.Options)
		if err != nil {
			return nil, at(i, len(items), err)
		}
		if i == 0 {
			d.tx = req.tx
		} else if !sameTx(d.tx, req.tx) {
			return nil, at(i, len(items), invalid("In", "all jobs of one call go into the same transaction, or all into none"))
		}
		d.rows[i] = req.job
	}
	return d, nil
}

// InHostTx says whether it is to be written in the host's transaction.
func (d *Draft) InHostTx() bool { return d.tx != nil }

// Join makes all items members of the batch; one that names another is refused.
func (d *Draft) Join(id domain.BatchID) error {
	for i := range d.rows {
		if own := d.rows[i].Batch; !own.IsZero() && own != id {
			return at(i, len(d.rows), invalid("Batch", "it names another batch than the one that it is added to"))
		}
	}
	for i := range d.rows {
		d.rows[i].Batch = id
	}
	return nil
}

// Write adds all items or none, as EnqueueMany does.
func (d *Draft) Write(ctx context.Context) ([]Receipt, error) {
	done, err := d.client.insert(ctx, d.rows, d.tx)
	if err != nil {
		return nil, err
	}
	receipts := make([]Receipt, len(done))
	for i, answer := range done {
		receipts[i] = Receipt{Job{answer.ID, d.rows[i].Kind, d.rows[i].Queue}, answer.Result}
	}
	return receipts, nil
}

// Template is a job that Rowlock shall enqueue by itself, later. Options that belong
// to one enqueue alone are refused by name.
func (c *Client) Template(ctx context.Context, args work.Args, opts ...Option) (domain.Template, error) {
	req, err := c.build(ctx, args, opts)
	if err != nil {
		return domain.Template{}, err
	}
	job := &req.job
	for _, own := range []struct {
		option string
		named  bool
	}{
		{"After", req.after != nil || job.Due.After != 0}, {"At", req.at != nil || !job.Due.At.IsZero()},
		{"Unique", req.key != nil}, {"Mutex, Chain", job.Turn != domain.NoTurn}, {"LimitKey", job.LimitKey != ""},
		{"Batch", !job.Batch.IsZero()}, {"ID", req.named}, {"In", req.tx != nil},
		{"Tenant", job.Tenant != domain.TenantOf(ctx)},
	} {
		if own.named {
			return domain.Template{}, invalid(own.option, "it belongs to one enqueue: a job that Rowlock adds by itself cannot have it")
		}
	}
	return domain.TemplateOf(job), nil
}
