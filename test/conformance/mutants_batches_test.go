package conformance

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// creating, finishing and sealing worsen one call each.
func creating(change func(*domain.NewBatch)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onCreateBatch = func(ctx context.Context, n domain.NewBatch) error {
			change(&n)
			return b.Store.CreateBatch(ctx, n)
		}
	}
}

func finishing(change func(context.Context, driven.Store, []domain.BatchID, []driven.Finished) ([]driven.Finished, error)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onFinishBatches = func(ctx context.Context, ids []domain.BatchID) ([]driven.Finished, error) {
			got, err := b.Store.FinishBatches(ctx, ids)
			if err != nil {
				return nil, err
			}
			return change(ctx, b.Store, ids, got)
		}
	}
}

func sealing(change func(context.Context, driven.Store, domain.BatchID, *domain.Sealed)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onSealBatch = func(ctx context.Context, id domain.BatchID, tenant string) (domain.Sealed, error) {
			got, err := b.Store.SealBatch(ctx, id, tenant)
			if err == nil {
				change(ctx, b.Store, id, &got)
			}
			return got, err
		}
	}
}

func seeing(change func(context.Context, driven.Store, *domain.Batch)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onBatch = func(ctx context.Context, id domain.BatchID, tenant string) (domain.Batch, error) {
			got, err := b.Store.Batch(ctx, id, tenant)
			change(ctx, b.Store, &got)
			return got, err
		}
	}
}

func pruning(prune func(context.Context, driven.Store, driven.PruneRequest) (driven.Pruned, error)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onPruneBatches = func(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) { return prune(ctx, b.Store, r) }
	}
}

// calling are the finished batches whose callback is there and not terminal.
func calling(ctx context.Context, s driven.Store) (all []domain.Batch) {
	finished, _ := s.ListBatches(ctx, domain.BatchFilter{State: domain.BatchFinished}, domain.BatchPage{Size: 100})
	for _, b := range finished {
		if j, err := s.Job(ctx, b.CallbackJob, ""); err == nil && !j.State.Terminal() {
			all = append(all, b)
		}
	}
	return all
}

// loose inserts what a batch refuses without it, where that is for one of the codes.
func loose(codes ...domain.Code) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
			got, err := b.Store.Insert(ctx, jobs)
			if !slices.Contains(codes, domain.CodeOf(err)) {
				return got, err
			}
			jobs = slices.Clone(jobs)
			for i := range jobs {
				jobs[i].Batch = domain.BatchID{}
			}
			return b.Store.Insert(ctx, jobs)
		}
	}
}

// batchEdits worsens the answers of every edit.
func batchEdits(change func(context.Context, driven.Store, *domain.Edited)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		bad := func(good func(context.Context, driven.EditRequest) ([]domain.Edited, error)) func(context.Context, driven.EditRequest) ([]domain.Edited, error) {
			return func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
				got, err := good(ctx, r)
				for i := range got {
					change(ctx, b.Store, &got[i])
				}
				return got, err
			}
		}
		b.onRetry, b.onCancel, b.onDelete, b.onReschedule = bad(b.Store.Retry), bad(b.Store.Cancel), bad(b.Store.Delete), bad(b.Store.Reschedule)
	}
}

func nothingOf([]driven.Finished) []driven.Finished { return nil }

func batchMutants() []mutant { return slices.Concat(memberMutants(), endMutants(), oldBatchMutants()) }

func memberMutants() []mutant {
	asked := func(b *broken, _ *Harness) {
		members := map[domain.BatchID]int64{}
		b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
			got, err := b.Store.Insert(ctx, jobs)
			for _, n := range jobs {
				if err == nil {
					members[n.Batch]++
				}
			}
			return got, err
		}
		sealing(func(_ context.Context, _ driven.Store, id domain.BatchID, s *domain.Sealed) { s.Total = members[id] })(b, nil)
	}
	return []mutant{
		{"overwrites a batch that is there", func(b *broken, _ *Harness) {
			b.onCreateBatch = func(ctx context.Context, n domain.NewBatch) error {
				_ = b.Store.ForgetBatch(ctx, n.ID, "")
				return b.Store.CreateBatch(ctx, n)
			}
		}, []string{"batch/create"}},
		{"forgets the callback of a batch", creating(func(n *domain.NewBatch) { n.Callback = nil }), []string{"batch/create", "batch/ends", "batch/once", "batch/callback"}},
		{"forgets whose a batch is", creating(func(n *domain.NewBatch) { n.Tenant = "" }), []string{"batch/create", "batch/callback", "batch/sealed", "batch/again", "batch/forgotten", "batch/find", "tenancy/batches"}},
		{"takes jobs into a sealed batch", loose(domain.Conflict), []string{"batch/sealed", "batch/table", "batch/race"}},
		{"takes jobs into any batch", loose(domain.NotFound), []string{"batch/sealed", "tenancy/batches"}},
		{"counts whoever asked for membership", asked, []string{"batch/existing"}},
		{"forgets the batch of a row", showing(func(j *domain.Job) { j.Batch = domain.BatchID{} }), []string{"batch/existing", "batch/forgotten"}},
		{"forgets the batch of a claim", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := b.Store.Claim(ctx, r)
				for i := range got.Jobs {
					got.Jobs[i].Job.Batch = domain.BatchID{}
				}
				return got, err
			}
		}, []string{"claim/fields", "batch/retried", "batch/sealed"}},
		{"seals a batch anew", sealing(func(_ context.Context, _ driven.Store, _ domain.BatchID, s *domain.Sealed) { s.Again = false }), []string{"batch/again", "batch/table"}},
		{"counts a thousand members", sealing(func(_ context.Context, _ driven.Store, _ domain.BatchID, s *domain.Sealed) {
			s.Total = min(s.Total, 1000)
		}), []string{"batch/many"}},
		{"counts again at each seal", sealing(func(ctx context.Context, s driven.Store, id domain.BatchID, got *domain.Sealed) {
			n, _, _ := s.Count(ctx, domain.Filter{Batch: id}, 10_000)
			got.Total = int64(n)
		}), []string{"batch/again"}},
		{"does not wait for an open transaction", func(b *broken, _ *Harness) {
			b.onSealBatch = func(ctx context.Context, id domain.BatchID, tenant string) (domain.Sealed, error) {
				got, err := b.Store.SealBatch(ctx, id, tenant)
				if domain.CodeOf(err) == domain.Contended {
					return got, nil
				}
				return got, err
			}
		}, []string{"hosttx/seal"}},
	}
}

func endMutants() []mutant {
	type done = []driven.Finished
	return []mutant{
		{"finishes no batch", finishing(func(_ context.Context, _ driven.Store, _ []domain.BatchID, got done) (done, error) {
			return nothingOf(got), nil
		}), []string{
			"batch/ends", "batch/once", "batch/callback", "batch/table", "batch/many", "batch/barrier", "batch/sweep", "batch/pruned", "hosttx/batch",
		}},
		{"finishes batches whose members wait", finishing(func(ctx context.Context, s driven.Store, ids []domain.BatchID, got done) (done, error) {
			for _, id := range ids {
				if b, err := s.Batch(ctx, id, ""); err == nil && b.FinishedAt.IsZero() {
					got = append(got, driven.Finished{Batch: b})
				}
			}
			return got, nil
		}), []string{"batch/ends", "batch/table", "batch/many", "batch/retried", "batch/sweep", "batch/barrier"}},
		{"tells everybody that they finished a batch", finishing(func(ctx context.Context, s driven.Store, ids []domain.BatchID, _ done) (got done, err error) {
			for _, id := range ids {
				if b, err := s.Batch(ctx, id, ""); err == nil && !b.FinishedAt.IsZero() {
					got = append(got, driven.Finished{Batch: b, Queue: callbackQueue})
				}
			}
			return got, nil
		}), []string{"batch/once", "batch/ends", "batch/retried"}},
		{"adds the callback at each look", finishing(func(ctx context.Context, s driven.Store, ids []domain.BatchID, got done) (done, error) {
			for _, id := range ids {
				if b, err := s.Batch(ctx, id, ""); err == nil && !b.FinishedAt.IsZero() {
					if n, err := b.Finish(); err == nil && n != nil {
						_, _ = s.Insert(ctx, []domain.NewJob{*n})
					}
				}
			}
			return got, nil
		}), []string{"batch/once"}},
		{"counts the dead as done", seeing(func(_ context.Context, _ driven.Store, b *domain.Batch) {
			if !b.FinishedAt.IsZero() {
				b.Done = b.Total
			}
		}), []string{"batch/ends", "batch/table", "batch/many", "batch/retried", "batch/crossed"}},
		{"lets a callback that is refused keep batches open", func(b *broken, _ *Harness) {
			b.onFinishBatches = func(ctx context.Context, ids []domain.BatchID) (done, error) {
				for _, id := range ids {
					if batch, err := b.Store.Batch(ctx, id, ""); err == nil {
						if _, err := batch.Finish(); err != nil {
							return nil, err
						}
					}
				}
				return b.Store.FinishBatches(ctx, ids)
			}
		}, []string{"batch/callback"}},
		{"says nothing of a callback that was refused", finishing(func(_ context.Context, _ driven.Store, _ []domain.BatchID, got done) (done, error) {
			for i := range got {
				got[i].Refused = false
			}
			return got, nil
		}), []string{"batch/callback"}},
		{"moves a finished batch when a member is retried", seeing(func(ctx context.Context, s driven.Store, b *domain.Batch) {
			n, _, _ := s.Count(ctx, domain.Filter{Batch: b.ID, States: []domain.State{domain.Done}}, 10_000)
			if !b.FinishedAt.IsZero() {
				b.Done = int64(n)
			}
		}), []string{"batch/retried"}},
		{"counts no members that wait", seeing(func(_ context.Context, _ driven.Store, b *domain.Batch) { b.Pending = 0 }), []string{"batch/ends", "batch/again", "batch/find"}},
		{"names no batch of what an operator ended", batchEdits(func(_ context.Context, _ driven.Store, e *domain.Edited) { e.Batch = domain.BatchID{} }), []string{"batch/edited"}},
		{"names the batch of whatever an operator touched", batchEdits(func(ctx context.Context, s driven.Store, e *domain.Edited) {
			if j, err := s.Job(ctx, e.ID, ""); err == nil {
				e.Batch = j.Batch
			}
		}), []string{"batch/edited"}},
	}
}

func oldBatchMutants() []mutant {
	opening := func(change func(driven.Store, []domain.BatchID) []domain.BatchID) func(*broken, *Harness) {
		return func(b *broken, _ *Harness) {
			b.onOpenBatches = func(ctx context.Context, after domain.BatchID, limit int) ([]domain.BatchID, error) {
				got, err := b.Store.OpenBatches(ctx, after, limit)
				return change(b.Store, got), err
			}
		}
	}
	listing := func(change func(*domain.BatchFilter, *domain.BatchPage)) func(*broken, *Harness) {
		return func(b *broken, _ *Harness) {
			b.onListBatches = func(ctx context.Context, f domain.BatchFilter, p domain.BatchPage) ([]domain.Batch, error) {
				change(&f, &p)
				return b.Store.ListBatches(ctx, f, p)
			}
		}
	}
	return []mutant{
		{"lists open batches backwards", opening(func(_ driven.Store, ids []domain.BatchID) []domain.BatchID { slices.Reverse(ids); return ids }), []string{"batch/sweep"}},
		{"sweeps batches that are not sealed", func(b *broken, _ *Harness) {
			b.onOpenBatches = func(ctx context.Context, _ domain.BatchID, _ int) (ids []domain.BatchID, err error) {
				all, err := b.Store.ListBatches(ctx, domain.BatchFilter{}, domain.BatchPage{Size: 500})
				for _, one := range slices.Backward(all) {
					if one.FinishedAt.IsZero() {
						ids = append(ids, one.ID)
					}
				}
				return ids, err
			}
		}, []string{"batch/sweep"}},
		{"prunes the members of open batches", func(b *broken, _ *Harness) {
			b.onPrune = func(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
				all, _ := b.Store.ListBatches(ctx, domain.BatchFilter{}, domain.BatchPage{Size: 500})
				for _, one := range all {
					_ = b.Store.ForgetBatch(ctx, one.ID, "")
				}
				return b.Store.Prune(ctx, r)
			}
		}, []string{"batch/pruned"}},
		{"puts nobody off", func(b *broken, _ *Harness) {
			b.onPrune = func(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
				r.Defer = 0
				return b.Store.Prune(ctx, r)
			}
		}, []string{"batch/pruned"}},
		{"looks at no rows behind those that it puts off", func(b *broken, _ *Harness) {
			b.onPrune = func(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
				got, err := b.Store.Prune(ctx, r)
				got.More = got.Removed == r.Limit
				return got, err
			}
		}, []string{"batch/pruned"}},
		{"forgets the jobs of a batch too", func(b *broken, _ *Harness) {
			b.onForgetBatch = func(ctx context.Context, id domain.BatchID, tenant string) error {
				err := b.Store.ForgetBatch(ctx, id, tenant)
				if ids, _ := b.Store.Match(ctx, domain.Filter{Batch: id}, domain.Page{Size: 500}); err == nil {
					_, _ = b.Store.Delete(ctx, driven.EditRequest{IDs: ids})
				}
				return err
			}
		}, []string{"batch/forgotten"}},
		{"keeps no batch for ever", creating(func(n *domain.NewBatch) { n.Keep = max(n.Keep, 1_000_000) }), []string{"batch/forgotten", "batch/create"}},
		{"prunes batches without a bound", pruning(func(ctx context.Context, s driven.Store, r driven.PruneRequest) (driven.Pruned, error) {
			r.Limit = 1000
			return s.PruneBatches(ctx, r)
		}), []string{"batch/forgotten"}},
		{"prunes no batch", pruning(func(context.Context, driven.Store, driven.PruneRequest) (driven.Pruned, error) {
			return driven.Pruned{}, nil
		}), []string{"batch/forgotten", "batch/kept", "tenancy/batches"}},
		{"prunes batches whose callback is still to run", pruning(func(ctx context.Context, s driven.Store, r driven.PruneRequest) (driven.Pruned, error) {
			for _, b := range calling(ctx, s) {
				_ = s.ForgetBatch(ctx, b.ID, "")
			}
			return s.PruneBatches(ctx, r)
		}), []string{"batch/kept"}},
		{"looks at no batch behind those that it keeps", pruning(func(ctx context.Context, s driven.Store, r driven.PruneRequest) (driven.Pruned, error) {
			if len(calling(ctx, s)) >= r.Limit {
				return driven.Pruned{}, nil
			}
			return s.PruneBatches(ctx, r)
		}), []string{"batch/kept"}},
		{"keeps batches whose callback is over", pruning(func(ctx context.Context, s driven.Store, r driven.PruneRequest) (driven.Pruned, error) {
			if jobs, _ := s.Jobs(ctx, domain.Filter{Kind: callbackKind}, domain.Page{Size: 100}); len(jobs) > 0 && r.Tenant == "" {
				return driven.Pruned{}, nil
			}
			return s.PruneBatches(ctx, r)
		}), []string{"batch/kept", "batch/forgotten"}},
		{"lists batches of every state", listing(func(f *domain.BatchFilter, _ *domain.BatchPage) { f.State = domain.AnyBatch }), []string{"batch/find"}},
		{"lists pages of batches without a bound", listing(func(_ *domain.BatchFilter, p *domain.BatchPage) { p.Size = 100 }), []string{"batch/find"}},
		{"lists every tenant's batches", listing(func(f *domain.BatchFilter, _ *domain.BatchPage) { f.Tenant = "" }), []string{"batch/find", "tenancy/batches"}},
		{"ignores the tenant of who asks for a batch", func(b *broken, _ *Harness) {
			b.onBatch = func(ctx context.Context, id domain.BatchID, _ string) (domain.Batch, error) {
				return b.Store.Batch(ctx, id, "")
			}
			b.onSealBatch = func(ctx context.Context, id domain.BatchID, _ string) (domain.Sealed, error) {
				return b.Store.SealBatch(ctx, id, "")
			}
			b.onForgetBatch = func(ctx context.Context, id domain.BatchID, _ string) error {
				return b.Store.ForgetBatch(ctx, id, "")
			}
		}, []string{"batch/find", "batch/again", "batch/forgotten", "tenancy/batches"}},
	}
}
