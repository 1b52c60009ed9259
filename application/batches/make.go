package batches

import (
	"context"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/domain"
)

// Form says what the members of a batch are: Of or Build.
type Form func(*form)

type form struct {
	lists, builds int
	items         []enqueue.Item
	build         Builder
}

// Add adds jobs to the batch that is being built, all of a call or none. It is safe
// for concurrent use.
type Add func(ctx context.Context, items ...enqueue.Item) ([]enqueue.Receipt, error)

// Builder adds the members of a batch, in as many calls as it likes.
type Builder func(ctx context.Context, add Add) error

// Of makes a batch of the items: a few round trips however many there are. Of none, it
// is finished at once.
func Of(items ...enqueue.Item) Form {
	return func(f *form) {
		f.lists++
		f.items = append(f.items, items...)
	}
}

// Build makes a batch of what the function adds. Jobs run as soon as they are added.
// When the function fails the batch is left unsealed: its jobs run, its callback never
// comes, unless somebody seals it.
func Build(fn Builder) Form {
	return func(f *form) {
		f.builds++
		f.build = fn
	}
}

// Made is a batch that is sealed.
type Made struct {
	ID       domain.BatchID
	Total    int64             // members
	Receipts []enqueue.Receipt // of a list, in order
}

// Make makes a batch with its members and seals it. One form is needed; for a batch
// that stays open there are Create, Add and Seal.
//
// It is not one transaction. A list whose jobs are refused leaves nothing. Where it
// fails later the fault's Subject is the batch's id, which is in Made too: the batch
// is there, unsealed.
func (s *Service) Make(ctx context.Context, o Options, forms ...Form) (Made, error) {
	var f form
	for _, one := range forms {
		one(&f)
	}
	switch {
	case f.lists > 0 && f.builds > 0:
		return Made{}, invalid("Of, Build", "give the members as a list or by a function, not both")
	case f.builds > 1 || f.builds == 1 && f.build == nil:
		return Made{}, invalid("Build", "give it one function")
	case f.builds == 1:
		return s.built(ctx, o, f.build)
	case f.lists == 0:
		return Made{}, invalid("Of, Build", "name the members, or make an open batch with Create")
	}
	return s.listed(ctx, o, f.items)
}

// listed judges everything before the first write.
func (s *Service) listed(ctx context.Context, o Options, items []enqueue.Item) (made Made, err error) {
	batch, err := s.draft(ctx, o)
	if err != nil {
		return made, err
	}
	members, err := s.join(ctx, batch.ID, items)
	if err != nil {
		return made, err
	}
	if members.InHostTx() {
		return made, inHostTx()
	}
	if err := s.deps.Store.CreateBatch(ctx, batch); err != nil {
		return made, err
	}
	if made.Receipts, err = members.Write(ctx); err != nil {
		if refused(err) {
			s.withdraw(ctx, batch)
			return made, err
		}
		made.ID = batch.ID
		return made, unsealed(batch.ID, err)
	}
	return s.close(ctx, batch.ID, made)
}

// built lets the function add.
func (s *Service) built(ctx context.Context, o Options, build Builder) (made Made, err error) {
	if made.ID, err = s.Create(ctx, o); err != nil {
		return Made{}, err
	}
	err = build(ctx, func(ctx context.Context, items ...enqueue.Item) ([]enqueue.Receipt, error) {
		draft, err := s.join(ctx, made.ID, items)
		if err != nil {
			return nil, err
		}
		if draft.InHostTx() {
			return nil, inHostTx()
		}
		return draft.Write(ctx)
	})
	if err != nil {
		return made, unsealed(made.ID, err)
	}
	return s.close(ctx, made.ID, made)
}

// close seals.
func (s *Service) close(ctx context.Context, id domain.BatchID, made Made) (Made, error) {
	made.ID = id
	sealed, err := s.Seal(ctx, id)
	if err != nil {
		return made, unsealed(id, err)
	}
	made.Total = sealed.Total
	return made, nil
}

// withdraw takes back a batch whose members were refused.
func (s *Service) withdraw(ctx context.Context, b domain.NewBatch) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	if err := s.deps.Store.ForgetBatch(ctx, b.ID, b.Tenant); err != nil {
		s.observe(domain.Event{Type: domain.EventError, Operation: "withdraw batch", Batch: b.ID, Err: err})
	}
}

// refused says that nothing was written and another try would not do.
func refused(err error) bool {
	code := domain.CodeOf(err)
	return code.Lasting() || code == domain.Conflict || code == domain.NotFound
}

func unsealed(id domain.BatchID, err error) error {
	return &domain.Fault{
		Code: domain.CodeOf(err), Op: "make batch", Subject: id.String(), Err: err,
		Hint: "the batch is there and not sealed: what was added runs, its callback waits until somebody seals it (`rowlock batches seal`)",
	}
}

func inHostTx() error {
	return &domain.Fault{
		Code: domain.Unsupported, Op: "make batch", Subject: "In",
		Hint: "a batch is sealed when its members are written, which those of a host's transaction are not yet: make it open, add with enqueue.Batch and enqueue.In, and seal it after the commit",
	}
}
