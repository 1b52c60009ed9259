package enqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// request is one job in the making.
type request struct {
	job      domain.NewJob
	tx       driven.HostTx
	after    *time.Duration
	at       *time.Time
	key      *string
	window   time.Duration // of the key; 0: until it is terminal
	conflict *domain.OnConflict
	turned   domain.Turn // asked for in the list at hand
	onDead   *domain.OnDead
	tenanted bool  // a tenant, or none, was named
	named    bool  // an id was
	err      error // the first option that is wrong
}

func (r *request) refuse(option, hint string) {
	if r.err == nil {
		r.err = invalid(option, hint)
	}
}

// apply adds one list of options. A delay of this list beats one of a list before.
func (r *request) apply(opts []Option) {
	turn, onDead := r.job.Turn, r.onDead
	r.after, r.at, r.turned = nil, nil, domain.NoTurn
	for _, opt := range opts {
		opt(r)
	}
	if r.job.Turn != turn && r.onDead == onDead { // that was said of other keys
		r.onDead = nil
	}
	switch {
	case r.after != nil && r.at != nil:
		r.refuse("After, At", "give a delay or a moment, not both")
	case r.after != nil:
		r.job.Due = domain.Due{After: *r.after}
	case r.at != nil && r.at.IsZero():
		r.refuse("At", "the moment is zero")
	case r.at != nil:
		r.job.Due = domain.Due{At: *r.at}
	}
}

// turn adds keys. The first of a list stand in place of those of a list before.
func (r *request) turn(option string, how domain.Turn, keys []string) {
	switch {
	case len(keys) == 0:
		r.refuse(option, "give it a key at least")
	case r.turned == domain.NoTurn:
		r.turned, r.job.Turn, r.job.Keys = how, how, slices.Clone(keys)
	case r.turned != how:
		r.refuse("Mutex, Chain", "give a job keys of one sort: turns of one order keep two jobs from waiting for each other")
	default:
		r.job.Keys = append(r.job.Keys, keys...)
	}
}

// build makes a valid job of args and options, or says what is wrong.
func (c *Client) build(ctx context.Context, args work.Args, opts []Option) (*request, error) {
	if args == nil {
		return nil, invalid("args", "they are nil")
	}
	req := &request{job: domain.NewJob{Kind: args.Kind(), Queue: DefaultQueue}}
	if own, ok := args.(interface{ EnqueueOptions() []Option }); ok {
		req.apply(own.EnqueueOptions())
		c.yield(&req.job)
	}
	req.apply(opts)
	if err := req.finish(); err != nil {
		return nil, err
	}
	text, err := work.Marshal("args", args)
	if err != nil {
		return nil, err
	}
	req.job.Args = text
	if req.job.Tenant, err = tenantFor(ctx, req.job.Tenant, req.tenanted); err != nil {
		return nil, err
	}
	return req, c.complete(&req.job)
}

// finish judges what takes two options together.
func (r *request) finish() error {
	if r.key != nil {
		r.job.Unique = &domain.Unique{Key: *r.key, Window: r.window}
		if r.conflict != nil {
			r.job.Unique.OnConflict = *r.conflict
		}
	} else if r.conflict != nil {
		r.refuse("OnConflict", "it needs Unique or UniqueFor")
	}
	if r.onDead != nil {
		if r.job.Turn != domain.TurnChain {
			r.refuse("OnDead", "it needs Chain: only a chain stands still behind its dead")
		}
		r.job.OnDead = *r.onDead
	}
	return r.err
}

// yield drops what the args type asked for where the handler's registration says otherwise.
func (c *Client) yield(job *domain.NewJob) {
	if c.cfg.Registry == nil {
		return
	}
	e, ok := c.cfg.Registry.Find(job.Kind)
	if !ok {
		return
	}
	if e.Rule.Policy.MaxAttempts > 0 {
		job.MaxAttempts = 0
	}
	if e.Timeout > 0 {
		job.Timeout = 0
	}
	if e.Failure != "" {
		job.FailureKind = ""
	}
	job.Keep = domain.Retention{
		Done:      cmp.Or(e.Keep.Done, job.Keep.Done),
		Dead:      cmp.Or(e.Keep.Dead, job.Keep.Dead),
		Cancelled: cmp.Or(e.Keep.Cancelled, job.Keep.Cancelled),
	}
}

// complete gives the job its id and is the last check of every door.
func (c *Client) complete(job *domain.NewJob) error {
	if job.ID.IsZero() {
		job.ID = c.cfg.IDs.NewJobID()
	}
	if err := c.place(job); err != nil {
		return err
	}
	if err := job.Validate(); err != nil {
		return err
	}
	if err := c.known("kind", job.Kind); err != nil || job.FailureKind == "" {
		return err
	}
	if job.FailureKind == job.Kind {
		return invalid("failure kind", "it is the job's own kind: a failure job has none of its own, so give it another kind")
	}
	return c.known("failure kind", job.FailureKind)
}

// place puts a key of a window into the bucket of now, and lets the row live as long.
func (c *Client) place(job *domain.NewJob) error {
	if job.Unique == nil || job.Unique.Window <= 0 {
		return nil
	}
	placed := *job.Unique
	if placed.Bucket == 0 {
		if c.cfg.Clock == nil {
			return &domain.Fault{Code: domain.Unsupported, Op: "enqueue", Subject: "UniqueFor", Hint: "the client was made without a Clock, so it cannot tell in which window now lies"}
		}
		placed = domain.UniqueFor(placed.Key, placed.Window, c.cfg.Clock.Now())
		placed.OnConflict = job.Unique.OnConflict
	}
	if err := placed.Validate(); err != nil {
		return err
	}
	job.Unique, job.Keep = &placed, c.keepOf(job).Cover(placed.Window)
	return nil
}

// keepOf is the job's retention, its kind's where it names none.
func (c *Client) keepOf(job *domain.NewJob) domain.Retention {
	if c.cfg.Registry == nil {
		return job.Keep
	}
	e, ok := c.cfg.Registry.Find(job.Kind)
	if !ok {
		return job.Keep
	}
	return domain.Retention{
		Done:      cmp.Or(job.Keep.Done, e.Keep.Done),
		Dead:      cmp.Or(job.Keep.Dead, e.Keep.Dead),
		Cancelled: cmp.Or(job.Keep.Cancelled, e.Keep.Cancelled),
	}
}

// tenantFor inherits the tenant in scope; writing into another one's jobs is refused.
func tenantFor(ctx context.Context, named string, explicit bool) (string, error) {
	scope := domain.TenantOf(ctx)
	switch {
	case !explicit:
		return scope, nil
	case scope == "" || named == "" || named == scope:
		return named, nil
	}
	return "", &domain.Fault{
		Code: domain.Invalid, Op: "enqueue", Subject: domain.CleanText(named, 80),
		Hint: "tenant_cross_write: another tenant is in scope; leave it to the context, or take the tenant out of scope first",
	}
}

// at says which job of a call a fault is about.
func at(i, of int, err error) error {
	var f *domain.Fault
	if of < 2 || !errors.As(err, &f) {
		return err
	}
	named := *f
	named.Subject = fmt.Sprintf("jobs[%d]", i)
	if f.Subject != "" {
		named.Subject += ": " + f.Subject
	}
	return &named
}

// sameTx compares two handles; one that cannot be compared is like no other.
func sameTx(a, b driven.HostTx) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

func invalid(subject, hint string) error {
	return &domain.Fault{Code: domain.Invalid, Op: "enqueue", Subject: subject, Hint: hint}
}
