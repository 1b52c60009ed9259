package conformance

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/faults"
)

// broken is a store of which single methods are replaced by worse ones.
type broken struct {
	driven.Store
	onInsert     func(context.Context, []domain.NewJob) ([]driven.Inserted, error)
	onClaim      func(context.Context, driven.ClaimRequest) (driven.Claims, error)
	onQueues     func(ctx context.Context, after string, limit int) ([]string, error)
	onSettle     func(context.Context, []driven.Outcome) (driven.Settled, error)
	onRenew      func(context.Context, driven.RenewRequest) (driven.Renewed, error)
	onRecover    func(context.Context, driven.RecoverRequest) (driven.Recovered, error)
	onRetry      func(context.Context, driven.EditRequest) ([]domain.Edited, error)
	onCancel     func(context.Context, driven.EditRequest) ([]domain.Edited, error)
	onDelete     func(context.Context, driven.EditRequest) ([]domain.Edited, error)
	onReschedule func(context.Context, driven.EditRequest) ([]domain.Edited, error)
	onJob        func(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error)
	onJobs       func(context.Context, domain.Filter, domain.Page) ([]domain.Job, error)
	onMatch      func(context.Context, domain.Filter, domain.Page) ([]domain.JobID, error)
	onCount      func(ctx context.Context, f domain.Filter, limit int) (int, bool, error)
	onStats      func(ctx context.Context, tenant string, limit int) (domain.Stats, error)
	onPrune      func(context.Context, driven.PruneRequest) (driven.Pruned, error)
	onBeat       func(ctx context.Context, r domain.RunnerInfo, ttl time.Duration) error
	onList       func(ctx context.Context, limit int) ([]domain.RunnerInfo, error)
	brokenBounds
	brokenSwitches
	brokenBatches
	brokenSchedules
}

// or gives the worse method where there is one.
func or[F any](worse F, there bool, good F) F {
	if there {
		return worse
	}
	return good
}

func (b *broken) Insert(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
	return or(b.onInsert, b.onInsert != nil, b.Store.Insert)(ctx, jobs)
}

func (b *broken) Claim(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
	return or(b.onClaim, b.onClaim != nil, b.Store.Claim)(ctx, r)
}

func (b *broken) Queues(ctx context.Context, after string, limit int) ([]string, error) {
	return or(b.onQueues, b.onQueues != nil, b.Store.Queues)(ctx, after, limit)
}

func (b *broken) Settle(ctx context.Context, o []driven.Outcome) (driven.Settled, error) {
	return or(b.onSettle, b.onSettle != nil, b.Store.Settle)(ctx, o)
}

func (b *broken) Renew(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
	return or(b.onRenew, b.onRenew != nil, b.Store.Renew)(ctx, r)
}

func (b *broken) Recover(ctx context.Context, r driven.RecoverRequest) (driven.Recovered, error) {
	return or(b.onRecover, b.onRecover != nil, b.Store.Recover)(ctx, r)
}

func (b *broken) Retry(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	return or(b.onRetry, b.onRetry != nil, b.Store.Retry)(ctx, r)
}

func (b *broken) Cancel(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	return or(b.onCancel, b.onCancel != nil, b.Store.Cancel)(ctx, r)
}

func (b *broken) Delete(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	return or(b.onDelete, b.onDelete != nil, b.Store.Delete)(ctx, r)
}

func (b *broken) Reschedule(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
	return or(b.onReschedule, b.onReschedule != nil, b.Store.Reschedule)(ctx, r)
}

func (b *broken) Job(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error) {
	return or(b.onJob, b.onJob != nil, b.Store.Job)(ctx, id, tenant)
}

func (b *broken) Jobs(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.Job, error) {
	return or(b.onJobs, b.onJobs != nil, b.Store.Jobs)(ctx, f, p)
}

func (b *broken) Match(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.JobID, error) {
	return or(b.onMatch, b.onMatch != nil, b.Store.Match)(ctx, f, p)
}

func (b *broken) Count(ctx context.Context, f domain.Filter, limit int) (int, bool, error) {
	return or(b.onCount, b.onCount != nil, b.Store.Count)(ctx, f, limit)
}

func (b *broken) Stats(ctx context.Context, tenant string, limit int) (domain.Stats, error) {
	return or(b.onStats, b.onStats != nil, b.Store.Stats)(ctx, tenant, limit)
}

func (b *broken) Prune(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
	return or(b.onPrune, b.onPrune != nil, b.Store.Prune)(ctx, r)
}

func (b *broken) Beat(ctx context.Context, r domain.RunnerInfo, ttl time.Duration) error {
	return or(b.onBeat, b.onBeat != nil, b.Store.Beat)(ctx, r, ttl)
}

func (b *broken) ListRunners(ctx context.Context, limit int) ([]domain.RunnerInfo, error) {
	return or(b.onList, b.onList != nil, b.Store.ListRunners)(ctx, limit)
}

// strikes breaks a store whose every call is a single step, so that the faults
// category can be judged without a database: the answer of the first call after
// At is lost, before or after it took.
type strikes struct {
	mu    sync.Mutex
	armed bool
	n     int
	when  faults.When
	calls []string
}

func (s *strikes) At(n int, when faults.When, _ faults.Action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.n, s.when = true, n, when
}

func (s *strikes) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed {
		return 1
	}
	return 0
}

func (s *strikes) Statements() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *strikes) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.calls = false, nil
}

// step runs one call, unless it is the one to break.
func (s *strikes) step(name string, run func() error) error {
	s.mu.Lock()
	s.calls = append(s.calls, name)
	strike := s.armed && len(s.calls) == s.n
	s.armed = s.armed && !strike
	s.mu.Unlock()
	lost := &domain.Fault{Code: domain.Unavailable, Op: name, Hint: "the connection was cut", Err: faults.ErrCut}
	if strike && s.when == faults.Before {
		return lost
	}
	if err := run(); err != nil || !strike {
		return err
	}
	return lost
}

// breakable puts strikes between the suite and a store.
func breakable(s driven.Store) (*broken, *strikes) {
	f, b := &strikes{}, &broken{Store: s}
	b.onInsert = stepped(f, "insert", s.Insert)
	b.onClaim = stepped(f, "claim", s.Claim)
	b.onSettle = stepped(f, "settle", s.Settle)
	b.onRenew = stepped(f, "renew", s.Renew)
	b.onRecover = stepped(f, "recover", s.Recover)
	b.onRetry = stepped(f, "retry", s.Retry)
	b.onPrune = stepped(f, "prune", s.Prune)
	b.onAdvance = stepped(f, "advance", s.Advance)
	b.onFinishBatches = stepped(f, "finish", s.FinishBatches)
	b.onSealBatch = func(ctx context.Context, id domain.BatchID, tenant string) (domain.Sealed, error) {
		return stepped(f, "seal", func(ctx context.Context, id domain.BatchID) (domain.Sealed, error) {
			return s.SealBatch(ctx, id, tenant)
		})(ctx, id)
	}
	return b, f
}

func stepped[Q, A any](f *strikes, name string, call func(context.Context, Q) (A, error)) func(context.Context, Q) (A, error) {
	return func(ctx context.Context, q Q) (answer A, err error) {
		err = f.step(name, func() error {
			answer, err = call(ctx, q)
			return err
		})
		if err != nil {
			var none A
			return none, err
		}
		return answer, nil
	}
}
