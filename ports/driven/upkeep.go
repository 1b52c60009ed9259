package driven

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Pruner is for removing rows whose retention ended.
type Pruner interface {
	// Prune looks at no more than Limit terminal rows whose time is over and removes
	// them, in one transaction (prune/bounded). A live row or one kept for ever never
	// goes (prune/live), nor a member of a batch that is there and not finished, which
	// is put off for Defer and keeps nobody else (batch/pruned). Its turns go with it
	// (turn/prune).
	Prune(context.Context, PruneRequest) (Pruned, error)
	// PruneBatches looks at no more than Limit finished batches whose time is over and
	// removes them, in one transaction (batch/forgotten). One whose callback job is
	// there and not terminal stays: it is put off for Defer and keeps nobody else
	// (batch/kept). Their jobs stay.
	PruneBatches(context.Context, PruneRequest) (Pruned, error)
}

// Pruned is the answer of a Prune.
type Pruned struct {
	Removed int
	More    bool // the limit was reached: call again
}

// PruneRequest bounds one pass.
type PruneRequest struct {
	Limit  int
	Tenant string // "" is any
	Defer  time.Duration
}

// Runners is for knowing who lives.
type Runners interface {
	// Beat says that a runner lives for the given span (runners/beat).
	Beat(ctx context.Context, r domain.RunnerInfo, ttl time.Duration) error
	// Leave takes a runner off the list; one that is not there is no fault.
	Leave(ctx context.Context, id string) error
	// ListRunners lists those whose span is not over, by id, at most limit (runners/live).
	ListRunners(ctx context.Context, limit int) ([]domain.RunnerInfo, error)
}
