package driven

import (
	"context"

	"github.com/rowlock/rowlock/domain"
)

// Batches are the roles of a store that keep sets of jobs.
type Batches interface {
	Batcher
	BatchFinder
}

// Batcher is for the life of batches. Their end is derived from the members'
// states, never counted on the way (batch/ends).
type Batcher interface {
	// CreateBatch writes an open batch; one of that id is a Conflict (batch/create).
	CreateBatch(context.Context, domain.NewBatch) error
	// SealBatch ends the adding and counts the members, those of calls that were
	// under way included (batch/race). Sealed before: nothing changes and the answer
	// says so (batch/again). Not there, or of another tenant: NotFound.
	SealBatch(ctx context.Context, id domain.BatchID, tenant string) (domain.Sealed, error)
	// FinishBatches finishes those of the batches that are sealed and have no member
	// that is not terminal: their done are counted, they are marked, and their
	// callback is added, in one transaction each (batch/ends, batch/once). It looks at
	// what is committed: call it after the write that made a member terminal, and as
	// often as one likes. A callback that is refused is left out and named
	// (batch/callback). Ids that are not there are passed over.
	FinishBatches(ctx context.Context, ids []domain.BatchID) ([]Finished, error)
	// OpenBatches lists sealed batches that are not finished, by id, at most limit
	// after the given one: what a sweep passes to FinishBatches (batch/sweep).
	OpenBatches(ctx context.Context, after domain.BatchID, limit int) ([]domain.BatchID, error)
	// ForgetBatch removes the batch and leaves its jobs alone; an unfinished one has
	// no callback then (batch/forgotten). NotFound as above.
	ForgetBatch(ctx context.Context, id domain.BatchID, tenant string) error
}

// Finished is a batch that this call finished.
type Finished struct {
	Batch   domain.Batch
	Queue   string // of its callback
	Refused bool   // its callback could not be added
}

// Events are what an observer is told of it.
func (f *Finished) Events() []domain.Event {
	b := &f.Batch
	told := domain.Event{Type: domain.EventBatchFinished, Batch: b.ID, Tenant: b.Tenant, Count: int(b.Total)}
	if b.Callback == nil {
		return []domain.Event{told}
	}
	told.Job, told.Kind, told.Queue = b.CallbackJob, b.Callback.Kind, f.Queue
	if !f.Refused {
		return []domain.Event{told}
	}
	return []domain.Event{told, {
		Type: domain.EventError, Operation: "add callback", Batch: b.ID, Tenant: b.Tenant, Kind: b.Callback.Kind,
		Err: &domain.Fault{Code: domain.Invalid, Op: "add callback", Subject: b.ID.String(), Hint: "the store refused the batch's callback; the batch is finished without it"},
	}}
}

// BatchFinder is for looking at batches.
type BatchFinder interface {
	// Batch answers one, with Pending counted up to a cap; NotFound, also for another
	// tenant's (batch/find).
	Batch(ctx context.Context, id domain.BatchID, tenant string) (domain.Batch, error)
	// ListBatches answers one page, newest id first (batch/find).
	ListBatches(context.Context, domain.BatchFilter, domain.BatchPage) ([]domain.Batch, error)
}
