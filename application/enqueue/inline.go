package enqueue

import (
	"cmp"
	"context"
	"errors"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Inline runs the handler here and now, with the args written and read as for a
// stored job: no row, no retry, attempt 1. Its error is returned as it is; nil
// after the timeout is ErrTimeout. A panic is the caller's.
func (c *Client) Inline(ctx context.Context, args work.Args, opts ...Option) error {
	if c.cfg.Registry == nil {
		return &domain.Fault{Code: domain.Unsupported, Op: "run inline", Hint: "the client was made without a registry of handlers"}
	}
	req, err := c.build(ctx, args, opts)
	if err != nil {
		return err
	}
	job := &req.job
	entry, ok := c.cfg.Registry.Find(job.Kind)
	if !ok {
		return unknown("kind", job.Kind, c.cfg.Registry.Kinds())
	}
	if job.Tenant != domain.TenantOf(ctx) {
		ctx = domain.WithTenant(ctx, job.Tenant)
	}
	ctx = work.WithResult(ctx, new(work.Result))
	if limit := cmp.Or(job.Timeout, entry.Timeout); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, domain.ErrTimeout)
		defer cancel()
	}
	err = entry.Run(ctx, &driven.Task{
		ID: job.ID, Kind: job.Kind, Queue: job.Queue, Tenant: job.Tenant, Attempt: 1,
		MaxAttempts: cmp.Or(job.MaxAttempts, entry.RuleOver(domain.DefaultRetry()).Policy.MaxAttempts),
		EnqueuedAt:  job.ID.Time(), Tags: job.Tags, Meta: job.Meta, Args: job.Args, Inline: true,
	})
	if err == nil && errors.Is(context.Cause(ctx), domain.ErrTimeout) {
		return domain.ErrTimeout
	}
	return err
}
