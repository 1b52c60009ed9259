package conformance

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// keyed worsens the unique key of each new job that has one, and the answers.
func keyed(change func(*domain.Unique), answer func(domain.NewJob, *driven.Inserted)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onInsert = func(ctx context.Context, asked []domain.NewJob) ([]driven.Inserted, error) {
			jobs := make([]domain.NewJob, len(asked))
			for i, n := range asked {
				if jobs[i] = n; n.Unique != nil {
					u := *n.Unique
					change(&u)
					jobs[i].Unique = &u
				}
			}
			got, err := b.Store.Insert(ctx, jobs)
			for i := range got {
				if answer != nil {
					answer(asked[i], &got[i])
				}
			}
			return got, err
		}
	}
}

// instead follows one policy where another was asked for, and says that it did not.
func instead(asked, followed domain.OnConflict) func(*broken, *Harness) {
	return keyed(func(u *domain.Unique) {
		if u.OnConflict == asked {
			u.OnConflict = followed
		}
	}, func(n domain.NewJob, a *driven.Inserted) {
		if n.Unique != nil && n.Unique.OnConflict == asked && a.Result > domain.Existing {
			a.Result = map[domain.OnConflict]domain.Inserted{domain.Replace: domain.Replaced, domain.Reschedule: domain.Rescheduled}[asked]
		}
	})
}

func policyMutants() []mutant {
	return []mutant{
		{"replaces nobody", instead(domain.Replace, domain.Skip), []string{"unique/replace", "unique/turns", "unique/twice", "unique/table", "batch/existing", "concurrency/replace"}},
		{"reschedules nobody", instead(domain.Reschedule, domain.Skip), []string{"unique/reschedule", "unique/turns", "unique/twice", "unique/table"}},
		{"replaces the due time alone", instead(domain.Replace, domain.Reschedule), []string{"unique/replace", "unique/twice"}},
		{"replaces where it is to reschedule", instead(domain.Reschedule, domain.Replace), []string{"unique/reschedule", "unique/twice"}},
		{"names no keys of a holder that it moved", keyed(func(*domain.Unique) {}, func(_ domain.NewJob, a *driven.Inserted) { a.Keys = nil }), []string{"unique/turns"}},
		{"frees the key of a window with its job", keyed(func(u *domain.Unique) {
			if u.Window > 0 {
				*u = domain.Unique{Key: u.Key + u.Window.String(), OnConflict: u.OnConflict}
			}
		}, nil), []string{"unique/window", "unique/busy", "unique/buckets"}},
		{"knows one bucket", keyed(func(u *domain.Unique) { u.Bucket = 0 }, nil), []string{"unique/buckets"}},
		{"knows one window", keyed(func(u *domain.Unique) { u.Window = max(u.Window, long) }, nil), []string{"unique/buckets", "unique/frees", "unique/rivals"}},
		{"touches a holder that is over", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				got, err := b.Store.Insert(ctx, jobs)
				for i, a := range got {
					if a.Result == domain.Existing && jobs[i].Unique != nil && jobs[i].Unique.OnConflict >= domain.Replace {
						_, _ = b.Store.Retry(ctx, driven.EditRequest{IDs: []domain.JobID{a.ID}, Due: jobs[i].Due})
					}
				}
				return got, err
			}
		}, []string{"unique/busy"}},
		{"takes a running job's due time", func(b *broken, _ *Harness) {
			moved := map[domain.JobID]domain.NewJob{}
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				got, err := b.Store.Insert(ctx, jobs)
				for i, a := range got {
					if a.Result == domain.Existing {
						moved[a.ID] = jobs[i]
					}
				}
				return got, err
			}
			b.onJob = func(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error) {
				j, err := b.Store.Job(ctx, id, tenant)
				if n, there := moved[id]; there && j.State == domain.Running && n.Unique != nil && n.Unique.OnConflict >= domain.Replace {
					j.RunAt = j.CreatedAt.Add(n.Due.After)
				}
				return j, err
			}
		}, []string{"unique/busy"}},
		{"hears the first word of a call alone", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, asked []domain.NewJob) ([]driven.Inserted, error) {
				jobs, seen := make([]domain.NewJob, len(asked)), map[string]bool{}
				for i, n := range asked {
					if jobs[i] = n; n.Unique != nil && seen[n.Unique.Key] {
						jobs[i].Unique = &domain.Unique{Key: n.Unique.Key}
					} else if n.Unique != nil && n.Unique.OnConflict >= domain.Replace {
						seen[n.Unique.Key] = true
					}
				}
				got, err := b.Store.Insert(ctx, jobs)
				for i := range got {
					if jobs[i].Unique != asked[i].Unique {
						got[i].Result = map[domain.OnConflict]domain.Inserted{domain.Skip: domain.Existing, domain.Replace: domain.Replaced, domain.Reschedule: domain.Rescheduled}[asked[i].Unique.OnConflict]
					}
				}
				return got, err
			}
		}, []string{"unique/twice"}},
		{"gives jobs without a key one", inserting(func(n *domain.NewJob) {
			if n.Unique == nil {
				n.Unique = &domain.Unique{Key: "none"}
			}
		}), []string{"unique/none"}},
		{"finds that a dead job holds its own key", func(b *broken, _ *Harness) {
			b.onRetry = func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
				for _, id := range r.IDs {
					if j, err := b.Store.Job(ctx, id, ""); err == nil && j.State == domain.Dead && j.UniqueKey != "" {
						return []domain.Edited{{ID: id, Err: &domain.Fault{Code: domain.Conflict, Op: "retry", Subject: id.String()}}}, nil
					}
				}
				return b.Store.Retry(ctx, r)
			}
		}, []string{"unique/self", "unique/rivals", "unique/window"}},
		{"keeps the attempts of a job that is replaced", func(b *broken, _ *Harness) {
			attempts := map[domain.JobID]int{}
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				for _, o := range outcomes {
					attempts[o.Ticket.ID]++
				}
				return b.Store.Settle(ctx, outcomes)
			}
			b.onJob = func(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error) {
				j, err := b.Store.Job(ctx, id, tenant)
				j.Attempts = max(j.Attempts, attempts[id])
				return j, err
			}
		}, []string{"unique/replace"}},
	}
}

func failureMutants() []mutant {
	return []mutant{
		{"adds no failure job", settling(func(o *driven.Outcome) { o.Failure = nil }), []string{"failure/added", "failure/once", "failure/many", "failure/refused"}},
		{"adds a failure job whatever becomes of its job", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				got, err := b.Store.Settle(ctx, outcomes)
				for _, o := range outcomes {
					if o.Failure != nil {
						_, _ = b.Store.Insert(ctx, []domain.NewJob{*o.Failure})
					}
				}
				return got, err
			}
		}, []string{"failure/added", "failure/once"}},
		{"lets a failure job that is refused keep its job alive", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				for _, o := range outcomes {
					if o.Failure != nil && o.Failure.Validate() != nil {
						return driven.Settled{}, &domain.Fault{Code: domain.Invalid, Op: "settle"}
					}
				}
				return b.Store.Settle(ctx, outcomes)
			}
		}, []string{"failure/refused"}},
		{"says nothing of a failure job that was refused", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				got, err := b.Store.Settle(ctx, outcomes)
				return driven.Settled{Dropped: got.Dropped}, err
			}
		}, []string{"failure/refused"}},
		{"forgets the failure jobs of a call whose one was refused", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				got, err := b.Store.Settle(ctx, outcomes)
				for _, o := range outcomes {
					if len(got.Refused) > 0 && o.Failure != nil {
						_, _ = b.Store.Delete(ctx, driven.EditRequest{IDs: []domain.JobID{o.Failure.ID}})
					}
				}
				return got, err
			}
		}, []string{"failure/refused"}},
		{"cuts the args of a failure job", settling(func(o *driven.Outcome) {
			if o.Failure != nil && len(o.Failure.Args) > domain.MaxArgs {
				o.Failure = nil
			}
		}), []string{"failure/added"}},
		{"takes a failure job for any other", settling(func(o *driven.Outcome) {
			if o.Failure != nil {
				n := *o.Failure
				n.FailureKind, o.Failure = "", &n
			}
		}), []string{"failure/last", "failure/added"}},
		{"adds the failure jobs of a part of many", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				some := make([]driven.Outcome, len(outcomes))
				for i := range outcomes {
					if some[i] = outcomes[i]; i >= 100 {
						some[i].Failure = nil
					}
				}
				return b.Store.Settle(ctx, some)
			}
		}, []string{"failure/many"}},
		{"forgets the failure kind of a row", inserting(func(n *domain.NewJob) { n.FailureKind = "" }), []string{"failure/stalled", "insert/fields", "claim/fields", "unique/replace"}},
		{"adds no failure job to one that stalls", func(b *broken, _ *Harness) {
			b.onRecover = func(ctx context.Context, r driven.RecoverRequest) (driven.Recovered, error) {
				r.Failures = nil
				return b.Store.Recover(ctx, r)
			}
		}, []string{"failure/stalled"}},
		{"does not name the failure job of one that stalls", func(b *broken, _ *Harness) {
			b.onRecover = func(ctx context.Context, r driven.RecoverRequest) (driven.Recovered, error) {
				got, err := b.Store.Recover(ctx, r)
				for i := range got.Jobs {
					got.Jobs[i].Failed = domain.JobID{}
				}
				return got, err
			}
		}, []string{"failure/stalled"}},
	}
}
