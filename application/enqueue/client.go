package enqueue

import (
	"context"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// DefaultQueue is the queue of a job that names none.
const DefaultQueue = "default"

// Config is what a client is made of. Store and IDs are needed.
type Config struct {
	Store    driven.Inserter
	Tx       driven.TxBinder // nil: In is Unsupported
	IDs      driven.IDs
	Clock    driven.Clock    // nil: every insert wakes its queue, also one due far ahead, and UniqueFor is Unsupported
	Turns    Turns           // nil: whose turn came since a waiting job was moved is left to the sweep
	Observer driven.Observer // nil: no events
	Wake     driven.Notifier // nil: runners poll
	// Registry is optional. With one that knows kinds, others are refused, what
	// Handle declared beats what the args type asks for, and Inline works.
	Registry *work.Registry
}

// Client adds jobs. It is safe for concurrent use.
type Client struct {
	cfg   Config
	probe *prober
}

var _ driving.Enqueuer = (*Client)(nil)

// New makes a client.
func New(cfg Config) *Client { return &Client{cfg: cfg, probe: newProber(cfg.Wake)} }

// Job names what an enqueue found or wrote.
type Job struct {
	ID    domain.JobID // the holder's, where none was inserted
	Kind  string
	Queue string
}

// Item is one job of an EnqueueMany.
type Item struct {
	Args    work.Args
	Options []Option
}

// Receipt is the answer for one item.
type Receipt struct {
	Job    Job
	Result domain.Inserted
}

// Enqueue adds one job.
func (c *Client) Enqueue(ctx context.Context, args work.Args, opts ...Option) (Job, domain.Inserted, error) {
	req, err := c.build(ctx, args, opts)
	if err != nil {
		return Job{}, 0, err
	}
	done, err := c.insert(ctx, []domain.NewJob{req.job}, req.tx)
	if err != nil {
		return Job{}, 0, err
	}
	return Job{ID: done[0].ID, Kind: req.job.Kind, Queue: req.job.Queue}, done[0].Result, nil
}

// EnqueueMany adds all items or none, and answers for each in order. Where the
// store's Limits say that bulk is not atomic, a second call with the same ids
// completes it. Either all items name one host transaction (In) or none does.
func (c *Client) EnqueueMany(ctx context.Context, items []Item) ([]Receipt, error) {
	draft, err := c.Draft(ctx, items)
	if err != nil {
		return nil, err
	}
	return draft.Write(ctx)
}
