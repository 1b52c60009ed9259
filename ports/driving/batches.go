package driving

import (
	"context"

	"github.com/rowlock/rowlock/domain"
)

// Batches is for looking at batches and ending them, those of the tenant in scope or
// all. What is not there, or another tenant's, is NotFound.
type Batches interface {
	// Get answers one, with how many of its members are still to end.
	Get(ctx context.Context, id domain.BatchID) (domain.Batch, error)
	// List answers one page, newest first.
	List(ctx context.Context, state domain.BatchState, p domain.BatchPage) ([]domain.Batch, error)
	// Seal ends the adding: from now on its callback waits for its members alone, and
	// comes at once where none is left to end.
	Seal(ctx context.Context, id domain.BatchID) (domain.Sealed, error)
	// Forget removes the batch and leaves its jobs alone; an unfinished one has no
	// callback then.
	Forget(ctx context.Context, id domain.BatchID) error
}
