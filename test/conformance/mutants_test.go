package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// mutant is a store with one fault, and the cases that must find it.
type mutant struct {
	fault  string
	worsen func(b *broken, h *Harness)
	cases  []string
}

func mutants() []mutant {
	return slices.Concat(claimMutants(), fairMutants(), settleMutants(), uniqueMutants(), nameMutants(), dataMutants(), editMutants(), findMutants(), otherMutants(),
		admitMutants(), wakeMutants(), declareMutants(), slotMutants(), turnMutants(),
		policyMutants(), failureMutants(), batchMutants(), scheduleMutants(), laterMutants(), switchMutants(), cancelMutants())
}

// TestMutants shows that the cases can fail: each store is broken in one way and
// every case named beside it must say so.
func TestMutants(t *testing.T) {
	for _, m := range mutants() {
		t.Run(strings.ReplaceAll(m.fault, " ", "-"), func(t *testing.T) {
			t.Parallel()
			for _, name := range m.cases {
				failed, said := attempt(t, name, func(t testing.TB) Harness {
					h := memory(t)
					b := &broken{Store: h.Backend.Store}
					h.Backend.Store = b
					m.worsen(b, &h)
					return h
				})
				if !failed {
					t.Errorf("%s did not find a store that %s; it said %q", name, m.fault, said)
				}
			}
		})
	}
}

// TestMustsAreTried: every case that a "must" of the ports names finds some mutant.
func TestMustsAreTried(t *testing.T) {
	tried := map[string]bool{}
	for _, m := range mutants() {
		for _, name := range m.cases {
			tried[name] = true
		}
	}
	bounds := slices.DeleteFunc(Cases(), func(name string) bool {
		category, _, _ := strings.Cut(name, "/")
		return !slices.Contains([]string{"bound", "turn", "slot", "fair", "unique", "failure", "batch", "schedule"}, category)
	})
	for _, name := range append(bounds, mustsOfThePorts(t)...) {
		if !tried[name] {
			t.Errorf("no mutant shows that %s can fail", name)
		}
	}
}

// TestLifecycleFinds shows that the cases of the lifecycle can fail too.
func TestLifecycleFinds(t *testing.T) {
	for name, worsen := range map[string]func(*broken, *Harness){
		"crash":  faultOf(t, settleMutants(), "forgets the fence of an outcome"),
		"fleet":  faultOf(t, claimMutants(), "gives two claimers one job when they race"),
		"work":   faultOf(t, uniqueMutants(), "answers in another order"),
		"unique": faultOf(t, uniqueMutants(), "never frees a unique key"),
		"args":   faultOf(t, dataMutants(), "eats backslashes"),
		"poison": faultOf(t, otherMutants(), "lets a job stall for ever"),
		"dead":   faultOf(t, editMutants(), "retries nothing"),
		"tenant": faultOf(t, nameMutants(), "ignores the tenant of a key"),
		"host":   faultOf(t, otherMutants(), "writes at once in the host's transaction"),
	} {
		for _, k := range lifecycleCases() {
			if k.name != name {
				continue
			}
			var failed bool
			var said []string
			for range 5 { // where one runner has all the work nobody meets anybody
				if failed, said = record(t, func(r *recorder) {
					h := memory(r)
					b := &broken{Store: h.Backend.Store}
					h.Backend.Store = b
					worsen(b, &h)
					k.run(newLife(newCase(r, h), system.Clock(), system.IDs()))
				}); failed {
					break
				}
			}
			if !failed {
				t.Errorf("lifecycle %s did not find its broken store; it said %q", name, said)
			}
		}
	}
}

func faultOf(t *testing.T, from []mutant, fault string) func(*broken, *Harness) {
	t.Helper()
	for _, m := range from {
		if m.fault == fault {
			return m.worsen
		}
	}
	t.Fatalf("there is no mutant that %s", fault)
	return nil
}

func claimMutants() []mutant {
	return []mutant{
		{"claims a job twice", func(b *broken, _ *Harness) {
			var last []driven.Claimed
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := b.Store.Claim(ctx, r)
				for _, j := range last {
					if len(got.Jobs) < r.N {
						j.Token = r.Token
						got.Jobs = append(got.Jobs, j)
					}
				}
				last = slices.Clone(got.Jobs)
				return got, err
			}
		}, []string{"claim/once"}},
		{"gives two claimers one job when they race", func(b *broken, _ *Harness) {
			type given struct {
				driven.Claimed
				to string
			}
			var mu sync.Mutex
			var spare []given
			total := 0
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := b.Store.Claim(ctx, r)
				mu.Lock()
				defer mu.Unlock()
				// A runner knows a job that it holds already: give it to another one.
				other := slices.IndexFunc(spare, func(s given) bool { return s.to != r.Runner || r.Runner == runnerID })
				if len(got.Jobs) < r.N && other >= 0 {
					j := spare[other].Claimed
					j.Token, spare = r.Token, slices.Delete(spare, other, other+1)
					got.Jobs = append(got.Jobs, j)
				} else if len(got.Jobs) > 0 && total < 40 {
					spare, total = append(spare, given{got.Jobs[0], r.Runner}), total+1
				}
				return got, err
			}
		}, []string{"concurrency/claim", "concurrency/work", "concurrency/everything"}},
		{"claims more than asked", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				r.N++
				return b.Store.Claim(ctx, r)
			}
		}, []string{"claim/once"}},
		{"claims before the due time", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				jobs = slices.Clone(jobs)
				for i := range jobs {
					jobs[i].Due.After = max(0, jobs[i].Due.After-time.Second)
				}
				return b.Store.Insert(ctx, jobs)
			}
		}, []string{"claim/due", "insert/due", "insert/fields", "model/leases"}},
		{"takes whatever kind is due", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				r.Kinds = append(slices.Clone(r.Kinds), kind, "test/other", "test/third", "test/foreign")
				return b.Store.Claim(ctx, r)
			}
		}, []string{"claim/kinds", "claim/foreign"}},
		{"counts a kind that is named twice double", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				once := len(slices.Compact(slices.Sorted(slices.Values(r.Kinds))))
				if len(r.Kinds) > 0 {
					r.N = r.N * once / len(r.Kinds)
				}
				return b.Store.Claim(ctx, r)
			}
		}, []string{"claim/kinds"}},
		{"never makes a scheduled job ready", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := b.Store.Claim(ctx, r)
				got.Jobs = slices.DeleteFunc(got.Jobs, func(j driven.Claimed) bool { return j.Job.RunAt.After(j.Job.CreatedAt) })
				return got, err
			}
		}, []string{"claim/promote", "claim/more", "order/promoted", "concurrency/promote"}},
		{"counts an attempt at the claim", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := b.Store.Claim(ctx, r)
				for i := range got.Jobs {
					got.Jobs[i].Job.Attempts++
				}
				return got, err
			}
		}, []string{"claim/attempts"}},
		{"leaves fields out of a claim", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := b.Store.Claim(ctx, r)
				for i := range got.Jobs {
					got.Jobs[i].Job.Keep, got.Jobs[i].Job.Meta = domain.Retention{}, nil
				}
				return got, err
			}
		}, []string{"claim/fields", "payload/meta"}},
		{"says nothing of what is due later", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := b.Store.Claim(ctx, r)
				got.Next = driven.NoNext
				return got, err
			}
		}, []string{"claim/next"}},
		{"says More for ever", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := b.Store.Claim(ctx, r)
				got.More = true
				return got, err
			}
		}, []string{"claim/more"}},
		{"drops the order", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := b.Store.Claim(ctx, r)
				slices.Reverse(got.Jobs)
				return got, err
			}
		}, []string{"order/all", "order/insert", "order/kinds", "model/everything"}},
		{"orders by time before priority", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				jobs = slices.Clone(jobs)
				for i := range jobs {
					jobs[i].Priority = 0
				}
				return b.Store.Insert(ctx, jobs)
			}
		}, []string{"order/all"}},
		{"keeps the old place of a job that failed", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				outcomes = slices.Clone(outcomes)
				for i := range outcomes {
					if outcomes[i].To == domain.Scheduled {
						outcomes[i].To = domain.Ready
					}
				}
				return b.Store.Settle(ctx, outcomes)
			}
		}, []string{"order/retry", "settle/retry", "settle/snooze", "settle/mixed"}},
		{"lists the queues of ended jobs", func(b *broken, _ *Harness) {
			b.onQueues = func(ctx context.Context, after string, limit int) ([]string, error) {
				jobs, err := b.Store.Jobs(ctx, domain.Filter{}, domain.Page{Size: 500})
				names := map[string]bool{}
				for _, j := range jobs {
					if j.Queue > after {
						names[j.Queue] = true
					}
				}
				list := slices.Sorted(maps.Keys(names))
				return list[:min(limit, len(list))], err
			}
		}, []string{"claim/queues"}},
	}
}

// tokens learns who holds each job.
func tokens(b *broken) map[domain.JobID]domain.Token {
	held := map[domain.JobID]domain.Token{}
	b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
		got, err := b.Store.Claim(ctx, r)
		for _, j := range got.Jobs {
			held[j.Job.ID] = j.Token
		}
		return got, err
	}
	return held
}

func settleMutants() []mutant {
	return []mutant{
		{"forgets the fence of an outcome", func(b *broken, _ *Harness) {
			held := tokens(b)
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				outcomes = slices.Clone(outcomes)
				for i := range outcomes {
					outcomes[i].Ticket.Token = held[outcomes[i].Ticket.ID]
				}
				return b.Store.Settle(ctx, outcomes)
			}
		}, []string{"settle/fence", "recover/fence", "model/leases"}},
		{"forgets the fence of a renewal", func(b *broken, _ *Harness) {
			held := tokens(b)
			b.onRenew = func(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
				r.Tickets = slices.Clone(r.Tickets)
				for i := range r.Tickets {
					r.Tickets[i].Ticket.Token = held[r.Tickets[i].Ticket.ID]
				}
				return b.Store.Renew(ctx, r)
			}
		}, []string{"lease/lost", "model/leases"}},
		{"knows a ticket by its job alone", func(b *broken, _ *Harness) {
			several := func(ids []domain.JobID, refused []domain.JobID) []domain.JobID {
				return slices.DeleteFunc(refused, func(id domain.JobID) bool {
					return len(slices.DeleteFunc(slices.Clone(ids), func(other domain.JobID) bool { return other != id })) > 1
				})
			}
			b.onRenew = func(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
				var ids []domain.JobID
				for _, t := range r.Tickets {
					ids = append(ids, t.Ticket.ID)
				}
				got, err := b.Store.Renew(ctx, r)
				return driven.Renewed{Lost: several(ids, got.Lost)}, err
			}
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				var ids []domain.JobID
				for _, o := range outcomes {
					ids = append(ids, o.Ticket.ID)
				}
				got, err := b.Store.Settle(ctx, outcomes)
				return driven.Settled{Dropped: several(ids, got.Dropped)}, err
			}
		}, []string{"lease/lost", "settle/partial"}},
		{"renews and sweeps without looking", func(b *broken, _ *Harness) {
			b.onRenew = func(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
				_, err := b.Store.Renew(ctx, r)
				return driven.Renewed{}, err
			}
		}, []string{"concurrency/renew"}},
		{"never says that a claim is lost", func(b *broken, _ *Harness) {
			b.onRenew = func(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
				_, err := b.Store.Renew(ctx, r)
				return driven.Renewed{}, err
			}
		}, []string{"lease/lost", "recover/fence", "lease/many"}},
		{"refuses a lapsed lease that nobody took", func(b *broken, h *Harness) {
			b.onRenew = func(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
				var lost []domain.JobID
				r.Tickets = slices.DeleteFunc(slices.Clone(r.Tickets), func(x driven.Renewal) bool {
					j, err := b.Store.Job(ctx, x.Ticket.ID, "")
					lapsed := err == nil && j.LeaseUntil.Before(storeNow(ctx, b.Store))
					if lapsed {
						lost = append(lost, j.ID)
					}
					return lapsed
				})
				got, err := b.Store.Renew(ctx, r)
				got.Lost = append(got.Lost, lost...)
				return got, err
			}
		}, []string{"lease/lapsed"}},
		{"calls a repeated outcome dropped", func(b *broken, _ *Harness) {
			seen := map[domain.Token]bool{}
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				got, err := b.Store.Settle(ctx, outcomes)
				for _, o := range outcomes {
					if seen[o.Ticket.Token] && !slices.Contains(got.Dropped, o.Ticket.ID) && len(outcomes) == 1 {
						got.Dropped = append(got.Dropped, o.Ticket.ID)
					}
					seen[o.Ticket.Token] = true
				}
				return got, err
			}
		}, []string{"settle/repeat"}},
		{"applies a repeated outcome again", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				got, err := b.Store.Settle(ctx, outcomes)
				for _, o := range outcomes {
					if j, err := b.Store.Job(ctx, o.Ticket.ID, ""); err == nil && j.State.Pending() && !slices.Contains(got.Dropped, j.ID) {
						_, _ = b.Store.Reschedule(ctx, driven.EditRequest{IDs: []domain.JobID{j.ID}, Due: domain.Due{After: 2 * j.RunAt.Sub(j.CreatedAt)}})
					}
				}
				return got, err
			}
		}, []string{"settle/repeat", "settle/retry"}},
		{"refuses all outcomes for one illegal one", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				for _, o := range outcomes {
					if !domain.CanMove(domain.ActSettle, domain.Running, o.To) {
						return driven.Settled{}, &domain.Fault{Code: domain.Invalid, Op: "settle"}
					}
				}
				return b.Store.Settle(ctx, outcomes)
			}
		}, []string{"settle/illegal"}},
		{"drops all outcomes for one stale one", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				for _, o := range outcomes {
					got, err := b.Store.Settle(ctx, []driven.Outcome{o})
					if err != nil || len(got.Dropped) > 0 {
						return got, err
					}
				}
				return driven.Settled{}, nil
			}
		}, []string{"settle/partial", "bulk/settle"}},
		{"keeps the last error of a done job", func(b *broken, _ *Harness) {
			b.onJob = func(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error) {
				j, err := b.Store.Job(ctx, id, tenant)
				if j.State == domain.Done {
					j.Error = "old"
				}
				return j, err
			}
		}, []string{"settle/done"}},
		{"counts a snooze as an attempt", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				outcomes = slices.Clone(outcomes)
				for i := range outcomes {
					outcomes[i].Counts = true
				}
				return b.Store.Settle(ctx, outcomes)
			}
		}, []string{"settle/snooze", "settle/release", "settle/cancelled", "settle/resets", "model/everything"}},
		{"forgets the args of a dead job", func(b *broken, _ *Harness) {
			b.onJob = func(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error) {
				j, err := b.Store.Job(ctx, id, tenant)
				if j.State == domain.Dead {
					j.Args = nil
				}
				return j, err
			}
		}, []string{"settle/forget", "settle/dead"}},
	}
}

func uniqueMutants() []mutant {
	return []mutant{
		{"never frees a unique key", func(b *broken, _ *Harness) {
			held := map[string]domain.JobID{}
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				for _, n := range jobs {
					if n.Unique == nil {
						continue
					}
					lock := domain.UniqueLock(n.Tenant, n.Unique.Key)
					if id, there := held[lock]; there && len(jobs) == 1 {
						return []driven.Inserted{{ID: id, Result: domain.Existing}}, nil
					}
					held[lock] = n.ID
				}
				return b.Store.Insert(ctx, jobs)
			}
		}, []string{"unique/frees"}},
		{"frees a unique key when the job fails", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				got, err := b.Store.Insert(ctx, jobs)
				if err == nil && len(got) == 1 && got[0].Result == domain.Existing {
					if j, _ := b.Store.Job(ctx, got[0].ID, ""); j.Attempts > 0 && j.ID != jobs[0].ID {
						return []driven.Inserted{{ID: jobs[0].ID}}, nil
					}
				}
				return got, err
			}
		}, []string{"unique/holds"}},
		{"answers with the caller's id instead of the holder's", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				got, err := b.Store.Insert(ctx, jobs)
				for i := range got {
					got[i].ID = jobs[i].ID
				}
				return got, err
			}
		}, []string{"unique/skip", "unique/call", "insert/many", "bulk/unique", "concurrency/unique"}},
		{"looks for the key before it writes", func(b *broken, _ *Harness) {
			var mu sync.Mutex
			looked, gate := 0, make(chan struct{})
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				mu.Lock()
				if looked++; looked == 2 {
					close(gate)
				}
				first := looked <= 2
				mu.Unlock()
				if first { // both look and find nothing
					<-gate
					n := jobs[0]
					n.Unique = nil
					return b.Store.Insert(ctx, []domain.NewJob{n})
				}
				return b.Store.Insert(ctx, jobs)
			}
		}, []string{"concurrency/unique"}},
		{"fails when the holder of a key vanishes", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				got, err := b.Store.Insert(ctx, jobs)
				if err == nil && len(got) == 1 && got[0].Result == domain.Existing {
					if j, err := b.Store.Job(ctx, got[0].ID, ""); err != nil || j.State != domain.Running {
						return nil, &domain.Fault{Code: domain.Internal, Op: "insert", Hint: "the holder vanished"}
					}
				}
				return got, err
			}
		}, []string{"concurrency/vanish"}},
		{"skips where a conflict was asked for", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				jobs = slices.Clone(jobs)
				for i := range jobs {
					if jobs[i].Unique != nil {
						jobs[i].Unique = &domain.Unique{Key: jobs[i].Unique.Key}
					}
				}
				return b.Store.Insert(ctx, jobs)
			}
		}, []string{"unique/error", "insert/atomic", "errors/codes"}},
		{"writes the rows of a call one by one", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) (all []driven.Inserted, err error) {
				for _, n := range jobs {
					got, err := b.Store.Insert(ctx, []domain.NewJob{n})
					if err != nil {
						return nil, err
					}
					all = append(all, got...)
				}
				return all, nil
			}
		}, []string{"insert/atomic", "bulk/atomic", "unique/call", "model/keys"}},
		{"answers in another order", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				got, err := b.Store.Insert(ctx, jobs)
				slices.Reverse(got)
				return got, err
			}
		}, []string{"insert/many", "bulk/insert", "insert/again"}},
		{"overwrites a row whose id is there", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				_, _ = b.Store.Delete(ctx, driven.EditRequest{IDs: idsOfNew(jobs)})
				return b.Store.Insert(ctx, jobs)
			}
		}, []string{"insert/again", "concurrency/id"}},
	}
}

// respell changes every name on its way into the store.
func respell(b *broken, spell func(string) string) {
	b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
		jobs = slices.Clone(jobs)
		for i := range jobs {
			n := &jobs[i]
			n.Queue, n.Kind, n.Tenant = spell(n.Queue), spell(n.Kind), spell(n.Tenant)
			if n.Unique != nil {
				n.Unique = &domain.Unique{Key: spell(n.Unique.Key), OnConflict: n.Unique.OnConflict}
			}
			n.Tags = slices.Clone(n.Tags)
			for k := range n.Tags {
				n.Tags[k] = spell(n.Tags[k])
			}
		}
		return b.Store.Insert(ctx, jobs)
	}
	b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
		r.Queue, r.Kinds = spell(r.Queue), slices.Clone(r.Kinds)
		for i := range r.Kinds {
			r.Kinds[i] = spell(r.Kinds[i])
		}
		return b.Store.Claim(ctx, r)
	}
	filtered := func(f domain.Filter) domain.Filter {
		f.Queue, f.Kind, f.Tenant, f.Tag = spell(f.Queue), spell(f.Kind), spell(f.Tenant), spell(f.Tag)
		return f
	}
	b.onJobs = func(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.Job, error) {
		return b.Store.Jobs(ctx, filtered(f), p)
	}
	b.onMatch = func(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.JobID, error) {
		return b.Store.Match(ctx, filtered(f), p)
	}
	b.onBeat = func(ctx context.Context, r domain.RunnerInfo, ttl time.Duration) error {
		r.ID = spell(r.ID)
		return b.Store.Beat(ctx, r, ttl)
	}
}

func nameMutants() []mutant {
	all := []string{"identity/queue", "identity/kind", "identity/tenant", "identity/key", "identity/tag", "identity/stats", "identity/runner"}
	spelled := func(fault string, spell func(string) string) mutant {
		return mutant{fault, func(b *broken, _ *Harness) { respell(b, spell) }, all}
	}
	return []mutant{
		spelled("folds case", strings.ToLower),
		spelled("ignores trailing blanks", func(s string) string { return strings.TrimRight(s, " ") }),
		spelled("ignores accents", func(s string) string { return strings.NewReplacer("ä", "a", "Ä", "A", "á", "a").Replace(s) }),
		spelled("composes characters", func(s string) string { return strings.ReplaceAll(s, "a\u0308", "ä") }),
		spelled("expands sharp s", func(s string) string { return strings.ReplaceAll(s, "ß", "ss") }),
		spelled("cuts long names", func(s string) string { return s[:min(len(s), 115)] }),
		spelled("knows no more than the basic plane", func(s string) string {
			return strings.Map(func(r rune) rune { return min(r, 0xffff) }, s)
		}),
		{"confuses the border between tenant and key", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				jobs = slices.Clone(jobs)
				for i := range jobs {
					if jobs[i].Unique != nil {
						jobs[i].Unique = &domain.Unique{Key: jobs[i].Tenant + jobs[i].Unique.Key}
					}
					jobs[i].Tenant = ""
				}
				return b.Store.Insert(ctx, jobs)
			}
		}, []string{"identity/border", "tenancy/claim"}},
		{"ignores the tenant of a key", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				jobs = slices.Clone(jobs)
				for i := range jobs {
					jobs[i].Tenant = ""
				}
				return b.Store.Insert(ctx, jobs)
			}
		}, []string{"tenancy/keys", "insert/fields"}},
		{"ignores the tenant of a reader", func(b *broken, _ *Harness) {
			b.onJob = func(ctx context.Context, id domain.JobID, _ string) (domain.Job, error) {
				return b.Store.Job(ctx, id, "")
			}
			b.onStats = func(ctx context.Context, _ string, limit int) (domain.Stats, error) {
				return b.Store.Stats(ctx, "", limit)
			}
			b.onPrune = func(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
				r.Tenant = ""
				return b.Store.Prune(ctx, r)
			}
		}, []string{"tenancy/doors", "tenancy/stats", "find/one", "prune/tenant"}},
		{"ignores the tenant of an operator", func(b *broken, _ *Harness) {
			b.onRetry = func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
				r.Tenant = ""
				return b.Store.Retry(ctx, r)
			}
		}, []string{"edit/tenant", "tenancy/doors"}},
	}
}

func dataMutants() []mutant {
	inserts := func(b *broken, change func(*domain.NewJob)) {
		b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
			jobs = slices.Clone(jobs)
			for i := range jobs {
				change(&jobs[i])
			}
			return b.Store.Insert(ctx, jobs)
		}
	}
	settles := func(b *broken, change func(*driven.Outcome)) {
		b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
			outcomes = slices.Clone(outcomes)
			for i := range outcomes {
				change(&outcomes[i])
			}
			return b.Store.Settle(ctx, outcomes)
		}
	}
	return []mutant{
		{"rounds moments up", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) {
				if !n.Due.At.IsZero() {
					n.Due.At = n.Due.At.Add(time.Millisecond - 1)
				}
			})
		}, []string{"time/cut"}},
		{"keeps whole seconds", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) { n.Due.At = n.Due.At.Truncate(time.Second) })
		}, []string{"time/zone", "time/edges"}},
		{"reads a moment as local wall time", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) {
				if at := n.Due.At; !at.IsZero() {
					n.Due.At = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
				}
			})
		}, []string{"time/zone"}},
		{"lets Go's clock into the due time", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) {
				if n.Due.At.IsZero() {
					n.Due = domain.Due{At: system.Clock().Now().Add(n.Due.After)}
				}
			})
		}, []string{"time/store", "insert/due", "model/everything"}},
		{"lets Go's clock into the lease", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				r.Lease += 7 * time.Hour
				return b.Store.Claim(ctx, r)
			}
		}, []string{"time/store", "claim/lease"}},
		{"answers in local time", func(b *broken, _ *Harness) {
			b.onJob = func(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error) {
				j, err := b.Store.Job(ctx, id, tenant)
				j.CreatedAt = j.CreatedAt.In(time.FixedZone("here", 3600))
				return j, err
			}
		}, []string{"time/utc"}},
		{"keeps spans in whole seconds", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) { n.Timeout = n.Timeout.Truncate(time.Second) })
		}, []string{"time/spans"}},
		{"reads args as floats", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) {
				var v any
				if json.Unmarshal(n.Args, &v) == nil {
					n.Args, _ = json.Marshal(v)
				}
			})
		}, []string{"payload/numbers", "payload/exact"}},
		{"compacts args", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) {
				var out bytes.Buffer
				if json.Compact(&out, n.Args) == nil {
					n.Args = out.Bytes()
				}
			})
		}, []string{"payload/exact", "insert/fields"}},
		{"cuts args at 64 KiB", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) { n.Args = n.Args[:min(len(n.Args), 65_535)] })
		}, []string{"payload/limit"}},
		{"eats backslashes", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) { n.Args = bytes.ReplaceAll(n.Args, []byte(`\\`), []byte(`\`)) })
		}, []string{"payload/exact", "payload/bulk"}},
		{"fills in question marks", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) {
				n.Tags = slices.Clone(n.Tags)
				for i := range n.Tags {
					n.Tags[i] = strings.ReplaceAll(n.Tags[i], "?0", "NULL")
				}
			})
		}, []string{"payload/texts", "payload/bulk"}},
		{"cuts metadata", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) { n.Meta = n.Meta[:min(len(n.Meta), 4000)] })
		}, []string{"payload/meta"}},
		{"sorts tags", func(b *broken, _ *Harness) {
			inserts(b, func(n *domain.NewJob) { n.Tags = slices.Sorted(slices.Values(n.Tags)) })
		}, []string{"payload/tags", "insert/fields"}},
		{"cuts errors at 255 bytes", func(b *broken, _ *Harness) {
			settles(b, func(o *driven.Outcome) { o.Error = o.Error[:min(len(o.Error), 255)] })
		}, []string{"payload/error"}},
		{"cuts the history", func(b *broken, _ *Harness) {
			settles(b, func(o *driven.Outcome) { o.History = o.History[:min(len(o.History), 65_535)] })
		}, []string{"payload/history"}},
		{"cuts results", func(b *broken, _ *Harness) {
			settles(b, func(o *driven.Outcome) { o.Result = o.Result[:min(len(o.Result), 4000)] })
		}, []string{"payload/result"}},
		{"takes at most 2,100 rows", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				if len(jobs) > 2100 {
					return nil, &domain.Fault{Code: domain.Internal, Op: "insert"}
				}
				return b.Store.Insert(ctx, jobs)
			}
		}, []string{"bulk/insert", "bulk/edit", "bulk/recover"}},
	}
}

func editMutants() []mutant {
	type edit = func(context.Context, driven.EditRequest) ([]domain.Edited, error)
	agree := func(good edit) edit { // says that it was done, whatever it was
		return func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
			got, err := good(ctx, r)
			for i := range got {
				got[i].Err = nil
			}
			return got, err
		}
	}
	whole := func(good edit) edit { // lets one refusal keep the rest
		return func(ctx context.Context, r driven.EditRequest) (all []domain.Edited, err error) {
			for i := range r.IDs {
				one := r
				one.IDs = r.IDs[i : i+1]
				got, err := good(ctx, one)
				all = append(all, got...)
				if err != nil || got[0].Err != nil {
					for _, id := range r.IDs[i+1:] {
						all = append(all, domain.Edited{ID: id, Err: got[0].Err})
					}
					return all, err
				}
			}
			return all, nil
		}
	}
	nothing := func(ctx context.Context, r driven.EditRequest) (all []domain.Edited, err error) {
		for _, id := range r.IDs {
			all = append(all, domain.Edited{ID: id})
		}
		return all, nil
	}
	return []mutant{
		{
			"says that every retry was done", func(b *broken, _ *Harness) { b.onRetry = agree(b.Store.Retry) },
			[]string{"unique/rivals", "edit/clash", "edit/running", "edit/forgotten", "edit/partial", "edit/tenant", "concurrency/retry", "model/keys"},
		},
		{
			"says that every cancel was done", func(b *broken, _ *Harness) { b.onCancel = agree(b.Store.Cancel) },
			[]string{"edit/cancel", "edit/cancel-running", "concurrency/cancel"},
		},
		{
			"says that every delete was done", func(b *broken, _ *Harness) { b.onDelete = agree(b.Store.Delete) },
			[]string{"edit/delete", "edit/running", "edit/partial"},
		},
		{"retries nothing", func(b *broken, _ *Harness) { b.onRetry = nothing }, []string{"edit/retry", "edit/now", "prune/retried", "bulk/edit"}},
		{"cancels nothing", func(b *broken, _ *Harness) { b.onCancel = nothing }, []string{"edit/cancel"}},
		{"deletes nothing", func(b *broken, _ *Harness) { b.onDelete = nothing }, []string{"edit/delete"}},
		{"reschedules nothing", func(b *broken, _ *Harness) { b.onReschedule = nothing }, []string{"edit/reschedule"}},
		{"moves the due time of ended jobs", func(b *broken, _ *Harness) { b.onReschedule = b.Store.Retry }, []string{"edit/reschedule"}},
		{"lets one refusal keep the rest", func(b *broken, _ *Harness) {
			b.onRetry, b.onDelete = whole(b.Store.Retry), whole(b.Store.Delete)
		}, []string{"edit/partial"}},
		{"does not name who is in the way", func(b *broken, _ *Harness) {
			b.onRetry = func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
				got, err := b.Store.Retry(ctx, r)
				for i := range got {
					if got[i].Err != nil {
						got[i].Err = &domain.Fault{Code: domain.CodeOf(got[i].Err), Op: "retry"}
					}
				}
				return got, err
			}
		}, []string{"edit/clash", "edit/running"}},
		{"edits jobs of any state", func(b *broken, _ *Harness) {
			anyState := func(do func(context.Context, driven.EditRequest) ([]domain.Edited, error)) func(context.Context, driven.EditRequest) ([]domain.Edited, error) {
				return func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
					r.States = nil
					return do(ctx, r)
				}
			}
			b.onRetry, b.onDelete = anyState(b.Store.Retry), anyState(b.Store.Delete)
			b.onCancel, b.onReschedule = anyState(b.Store.Cancel), anyState(b.Store.Reschedule)
		}, []string{"edit/states"}},
		{"answers an id that is named twice anew", func(b *broken, _ *Harness) {
			b.onDelete = func(ctx context.Context, r driven.EditRequest) (all []domain.Edited, err error) {
				for _, id := range r.IDs {
					got, err := b.Store.Delete(ctx, driven.EditRequest{IDs: []domain.JobID{id}, Tenant: r.Tenant, States: r.States})
					if err != nil {
						return nil, err
					}
					all = append(all, got...)
				}
				return all, nil
			}
		}, []string{"edit/twice"}},
		{"retries only what is due at once", func(b *broken, _ *Harness) {
			b.onRetry = func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
				r.Due = domain.Due{}
				return b.Store.Retry(ctx, r)
			}
		}, []string{"edit/retry", "edit/now"}},
	}
}

func findMutants() []mutant {
	return []mutant{
		{"repeats the last row of a page", func(b *broken, _ *Harness) {
			b.onJobs = func(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.Job, error) {
				if !p.Before.IsZero() {
					p.Before[15]++
				}
				return b.Store.Jobs(ctx, f, p)
			}
		}, []string{"find/pages"}},
		{"gives pages without a bound", func(b *broken, _ *Harness) {
			b.onJobs = func(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.Job, error) {
				p.Size = domain.MaxPage
				return b.Store.Jobs(ctx, f, p)
			}
		}, []string{"find/pages"}},
		{"gives the oldest first", func(b *broken, _ *Harness) {
			b.onMatch = func(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.JobID, error) {
				got, err := b.Store.Match(ctx, f, p)
				slices.Reverse(got)
				return got, err
			}
		}, []string{"find/match", "find/filters"}},
		{"lets any part of a filter do", func(b *broken, _ *Harness) {
			b.onJobs = func(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.Job, error) {
				f.Tag = ""
				return b.Store.Jobs(ctx, f, p)
			}
			b.onMatch = func(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.JobID, error) {
				f.Tag = ""
				return b.Store.Match(ctx, f, p)
			}
		}, []string{"find/filters", "identity/tag"}},
		{"folds the case of error texts", func(b *broken, _ *Harness) {
			settle := func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				outcomes = slices.Clone(outcomes)
				for i := range outcomes {
					outcomes[i].Error = strings.ToLower(outcomes[i].Error)
				}
				return b.Store.Settle(ctx, outcomes)
			}
			b.onSettle = settle
		}, []string{"find/error"}},
		{"takes Until as the last moment", func(b *broken, _ *Harness) {
			later := func(f domain.Filter) domain.Filter {
				if !f.Until.IsZero() {
					f.Until = f.Until.Add(time.Millisecond)
				}
				return f
			}
			b.onJobs = func(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.Job, error) {
				return b.Store.Jobs(ctx, later(f), p)
			}
			b.onMatch = func(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.JobID, error) {
				return b.Store.Match(ctx, later(f), p)
			}
		}, []string{"find/time"}},
		{"counts without a cap", func(b *broken, _ *Harness) {
			b.onCount = func(ctx context.Context, f domain.Filter, _ int) (int, bool, error) {
				return b.Store.Count(ctx, f, 1_000_000)
			}
			b.onStats = func(ctx context.Context, tenant string, _ int) (domain.Stats, error) {
				return b.Store.Stats(ctx, tenant, 1_000_000)
			}
		}, []string{"find/count", "find/stats", "find/bounded"}},
		{"calls a count at its limit inexact", func(b *broken, _ *Harness) {
			b.onCount = func(ctx context.Context, f domain.Filter, limit int) (int, bool, error) {
				n, exact, err := b.Store.Count(ctx, f, limit)
				return n, exact && n < limit, err
			}
		}, []string{"find/count"}},
		{"outlives the context of a look", func(b *broken, _ *Harness) {
			b.onJobs = func(ctx context.Context, f domain.Filter, p domain.Page) ([]domain.Job, error) {
				return b.Store.Jobs(context.WithoutCancel(ctx), f, p)
			}
		}, []string{"find/bounded", "errors/canceled"}},
		{"counts an overdue job as scheduled", func(b *broken, _ *Harness) {
			b.onStats = func(ctx context.Context, tenant string, limit int) (domain.Stats, error) {
				got, err := b.Store.Stats(ctx, tenant, limit)
				for i, l := range got.Lines {
					n, _, _ := b.Store.Count(ctx, domain.Filter{States: []domain.State{domain.Ready}, Queue: l.Queue, Kind: l.Kind, Tenant: tenant}, 1_000_000)
					late := l.Tally.Due - int64(n)
					got.Lines[i].Tally.Due, got.Lines[i].Tally.Scheduled = int64(n), l.Tally.Scheduled+late
				}
				return got, err
			}
		}, []string{"find/stats"}},
		{"does not count which handlers are stuck", func(b *broken, _ *Harness) {
			b.onStats = func(ctx context.Context, tenant string, limit int) (domain.Stats, error) {
				got, err := b.Store.Stats(ctx, tenant, limit)
				for i := range got.Lines {
					got.Lines[i].Tally.Stuck = 0
				}
				return got, err
			}
		}, []string{"find/stats"}},
		{"times the failed runs too", func(b *broken, _ *Harness) {
			b.onStats = func(ctx context.Context, tenant string, limit int) (domain.Stats, error) {
				got, err := b.Store.Stats(ctx, tenant, limit)
				for i := range got.Lines {
					got.Lines[i].Timings.Runs += got.Lines[i].Tally.Dead
				}
				return got, err
			}
		}, []string{"find/timings"}},
	}
}

func otherMutants() []mutant {
	swallow := func(b *broken, h *Harness) *broken {
		inner, f := breakable(b.Store)
		h.Faults = f
		b.Store = inner
		return inner
	}
	return []mutant{
		{"takes live claims away", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				r.Lease /= 100
				return b.Store.Claim(ctx, r)
			}
		}, []string{"recover/live", "claim/lease"}},
		{"takes its own claims away", func(b *broken, _ *Harness) {
			b.onRecover = func(ctx context.Context, r driven.RecoverRequest) (driven.Recovered, error) {
				r.Except = ""
				return b.Store.Recover(ctx, r)
			}
		}, []string{"recover/except", "identity/runner"}},
		{"sweeps without a bound", func(b *broken, _ *Harness) {
			b.onRecover = func(ctx context.Context, r driven.RecoverRequest) (driven.Recovered, error) {
				r.Limit = 1000
				return b.Store.Recover(ctx, r)
			}
		}, []string{"recover/bounded"}},
		{"lets one bad row keep a sweep", func(b *broken, _ *Harness) {
			b.onRecover = func(ctx context.Context, r driven.RecoverRequest) (driven.Recovered, error) {
				jobs, _ := b.Store.Jobs(ctx, domain.Filter{}, domain.Page{Size: 500})
				for _, j := range jobs {
					if _, err := j.History.Notes(); err != nil {
						return driven.Recovered{}, err
					}
				}
				return b.Store.Recover(ctx, r)
			}
		}, []string{"recover/bad"}},
		{"lets a job stall for ever", func(b *broken, _ *Harness) {
			b.onRecover = func(ctx context.Context, r driven.RecoverRequest) (driven.Recovered, error) {
				r.Stalls.Max = 1000
				return b.Store.Recover(ctx, r)
			}
		}, []string{"recover/dead", "recover/keep", "unique/frees"}},
		{"forgets the stalls policy's wait", func(b *broken, _ *Harness) {
			b.onRecover = func(ctx context.Context, r driven.RecoverRequest) (driven.Recovered, error) {
				r.Stalls.Base = time.Millisecond
				return b.Store.Recover(ctx, r)
			}
		}, []string{"recover/stall"}},
		{"prunes without a bound", func(b *broken, _ *Harness) {
			b.onPrune = func(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
				r.Limit = 1000
				return b.Store.Prune(ctx, r)
			}
		}, []string{"prune/bounded"}},
		{"prunes what is kept for ever", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				outcomes = slices.Clone(outcomes)
				for i := range outcomes {
					outcomes[i].Keep = max(outcomes[i].Keep, 0)
				}
				return b.Store.Settle(ctx, outcomes)
			}
		}, []string{"prune/live"}},
		{"prunes no dead job", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				outcomes = slices.Clone(outcomes)
				for i := range outcomes {
					if outcomes[i].To == domain.Dead {
						outcomes[i].Keep = domain.KeepForever
					}
				}
				return b.Store.Settle(ctx, outcomes)
			}
		}, []string{"prune/states"}},
		{"never forgets a runner", func(b *broken, _ *Harness) {
			b.onBeat = func(ctx context.Context, r domain.RunnerInfo, ttl time.Duration) error {
				return b.Store.Beat(ctx, r, 1000*ttl)
			}
		}, []string{"runners/live"}},
		{"keeps a runner's first word", func(b *broken, _ *Harness) {
			seen := map[string]domain.RunnerInfo{}
			b.onBeat = func(ctx context.Context, r domain.RunnerInfo, ttl time.Duration) error {
				if first, there := seen[r.ID]; there {
					r = first
				}
				seen[r.ID] = domain.RunnerInfo{ID: r.ID, Kinds: slices.Clone(r.Kinds), Queues: r.Queues, StartedAt: r.StartedAt}
				return b.Store.Beat(ctx, r, ttl)
			}
		}, []string{"runners/beat"}},
		{"lists runners as they came", func(b *broken, _ *Harness) {
			b.onList = func(ctx context.Context, limit int) ([]domain.RunnerInfo, error) {
				list, err := b.Store.ListRunners(ctx, limit)
				slices.Reverse(list)
				return list, err
			}
		}, []string{"runners/live", "identity/runner"}},
		{"gives raw errors", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				got, err := b.Store.Insert(ctx, jobs)
				if err != nil {
					err = errors.New(err.Error())
				}
				return got, err
			}
		}, []string{"errors/codes", "errors/canceled", "errors/closed", "errors/goes-on", "unique/error"}},
		{"shows args in errors", func(b *broken, _ *Harness) {
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				got, err := b.Store.Insert(ctx, jobs)
				if err != nil {
					err = &domain.Fault{Code: domain.CodeOf(err), Op: "insert", Hint: fmt.Sprintf("INSERT ... %s", jobs[0].Args), Err: err}
				}
				return got, err
			}
		}, []string{"errors/quiet"}},
		{"works on after Close", func(b *broken, h *Harness) { h.Backend.Close = func() error { return nil } }, []string{"errors/closed"}},
		{
			"writes at once in the host's transaction", func(b *broken, h *Harness) { h.Backend.Tx = atOnce{b.Store} },
			[]string{"hosttx/rollback", "hosttx/foreign", "hosttx/turns"},
		},
		{"swallows a lost insert", func(b *broken, h *Harness) {
			inner := swallow(b, h)
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				got, err := inner.Insert(ctx, jobs)
				if domain.CodeOf(err) == domain.Unavailable {
					got = make([]driven.Inserted, len(jobs))
					err = nil
				}
				return got, err
			}
		}, []string{"faults/insert"}},
		{"swallows a lost outcome", func(b *broken, h *Harness) {
			inner := swallow(b, h)
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				got, err := inner.Settle(ctx, outcomes)
				if domain.CodeOf(err) == domain.Unavailable {
					err = nil
				}
				return got, err
			}
		}, []string{"faults/settle"}},
		{"says that nothing was written when it was", func(b *broken, h *Harness) {
			inner := swallow(b, h)
			lie := func(err error) error {
				if domain.CodeOf(err) == domain.Unavailable {
					return &domain.Fault{Code: domain.Contended, Op: "lie"}
				}
				return err
			}
			b.onRecover = func(ctx context.Context, r driven.RecoverRequest) (driven.Recovered, error) {
				got, err := inner.Recover(ctx, r)
				return got, lie(err)
			}
			b.onPrune = func(ctx context.Context, r driven.PruneRequest) (driven.Pruned, error) {
				n, err := inner.Prune(ctx, r)
				return n, lie(err)
			}
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := inner.Claim(ctx, r)
				return got, lie(err)
			}
		}, []string{"faults/recover", "faults/prune", "faults/claim"}},
		{"writes half of a lost call", func(b *broken, h *Harness) {
			inner := swallow(b, h)
			b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
				got, err := inner.Insert(ctx, jobs)
				if err != nil && len(jobs) > 1 {
					_, _ = inner.Insert(ctx, jobs[:1])
				}
				return got, err
			}
			b.onRetry = func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
				got, err := inner.Retry(ctx, r)
				if err != nil {
					_, _ = inner.Store.Delete(ctx, r)
				}
				return got, err
			}
		}, []string{"faults/insert", "faults/edit"}},
		{"loses its claims with the connection", func(b *broken, h *Harness) {
			inner := swallow(b, h)
			b.onRenew = func(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
				got, err := inner.Renew(ctx, r)
				if err != nil {
					for _, x := range r.Tickets {
						_, _ = inner.Store.Settle(ctx, []driven.Outcome{{Ticket: x.Ticket, To: domain.Ready}})
					}
				}
				return got, err
			}
		}, []string{"faults/renew"}},
	}
}

// storeNow is the store's own time, as a row that it writes shows it.
func storeNow(ctx context.Context, s driven.Store) time.Time {
	id := domain.JobID{0: 1, 6: 0x70, 8: 0x80}
	_, _ = s.Insert(ctx, []domain.NewJob{{ID: id, Kind: "k", Queue: "clock", Args: []byte("1")}})
	j, _ := s.Job(ctx, id, "")
	_, _ = s.Delete(ctx, driven.EditRequest{IDs: []domain.JobID{id}})
	return j.CreatedAt
}

// atOnce takes any handle and writes outside of it.
type atOnce struct{ driven.Inserter }

func (a atOnce) Bind(driven.HostTx) (driven.Inserter, error) { return a.Inserter, nil }
