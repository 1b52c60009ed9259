package conformance

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// ownID answers inserts in a host's transaction with the caller's id.
type ownID struct{ driven.TxBinder }

func (o ownID) Bind(h driven.HostTx) (driven.Inserter, error) {
	in, err := o.TxBinder.Bind(h)
	return ownIDs{in}, err
}

type ownIDs struct{ driven.Inserter }

func (o ownIDs) Insert(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
	got, err := o.Inserter.Insert(ctx, jobs)
	for i := range got {
		got[i] = driven.Inserted{ID: jobs[i].ID}
	}
	return got, err
}

// laterMutants are those of host transactions and of calls that break.
func laterMutants() []mutant {
	struck := func(worsen func(b, inner *broken)) func(*broken, *Harness) {
		return func(b *broken, h *Harness) {
			inner, f := breakable(b.Store)
			h.Faults, b.Store = f, inner
			worsen(b, inner)
		}
	}
	lost := func(err error) bool { return domain.CodeOf(err) == domain.Unavailable }
	return []mutant{
		{"writes at once what is to be the host's", func(b *broken, h *Harness) { h.Backend.Tx = atOnce{b.Store} }, []string{"hosttx/replace", "hosttx/batch", "hosttx/seal"}},
		{"answers with the caller's id in a transaction", func(_ *broken, h *Harness) { h.Backend.Tx = ownID{h.Backend.Tx} }, []string{"hosttx/unique", "hosttx/replace"}},
		{"replaces in part when a call is lost", struck(func(b, inner *broken) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				got, err := inner.Insert(ctx, jobs)
				if lost(err) {
					_, _ = inner.Store.Insert(ctx, jobs[1:2])
				}
				return got, err
			}
		}), []string{"faults/replace"}},
		{"forgets a failure job when a call is lost", struck(func(b, inner *broken) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				got, err := inner.Settle(ctx, outcomes)
				for _, o := range outcomes {
					if o.Failure != nil && lost(err) {
						o.Failure = nil
						_, _ = inner.Store.Settle(ctx, []driven.Outcome{o})
					}
				}
				return got, err
			}
		}), []string{"faults/failure"}},
		{"forgets failure jobs when a sweep is lost", struck(func(b, inner *broken) {
			b.onRecover = func(ctx context.Context, r driven.RecoverRequest) (driven.Recovered, error) {
				got, err := inner.Recover(ctx, r)
				if ids, _ := inner.Store.Match(ctx, domain.Filter{Kind: failureKind}, domain.Page{Size: 10}); lost(err) {
					_, _ = inner.Store.Delete(ctx, driven.EditRequest{IDs: ids})
				}
				return got, err
			}
		}), []string{"faults/stalled"}},
		{"swallows a lost seal", struck(func(b, inner *broken) {
			b.onSealBatch = func(ctx context.Context, id domain.BatchID, tenant string) (domain.Sealed, error) {
				got, err := inner.SealBatch(ctx, id, tenant)
				if lost(err) {
					return domain.Sealed{Total: 2}, nil
				}
				return got, err
			}
		}), []string{"faults/seal"}},
		{"forgets a callback when a call is lost", struck(func(b, inner *broken) {
			b.onFinishBatches = func(ctx context.Context, ids []domain.BatchID) ([]driven.Finished, error) {
				got, err := inner.FinishBatches(ctx, ids)
				if jobs, _ := inner.Store.Match(ctx, domain.Filter{Kind: callbackKind}, domain.Page{Size: 10}); lost(err) {
					_, _ = inner.Store.Delete(ctx, driven.EditRequest{IDs: jobs})
				}
				return got, err
			}
		}), []string{"faults/finish"}},
		{"loses the tick of a call that is lost", struck(func(b, inner *broken) {
			b.onAdvance = func(ctx context.Context, t domain.Tick) (driven.Advanced, error) {
				got, err := inner.Advance(ctx, t)
				if lost(err) {
					t.Jobs = nil
					_, _ = inner.Store.Advance(ctx, t)
				}
				return got, err
			}
		}), []string{"faults/advance"}},
	}
}
