package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// The worsenings of one call that several mutants use.

func inserting(change func(*domain.NewJob)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onInsert = func(ctx context.Context, jobs []domain.NewJob) ([]driven.Inserted, error) {
			jobs = slices.Clone(jobs)
			for i := range jobs {
				change(&jobs[i])
			}
			return b.Store.Insert(ctx, jobs)
		}
	}
}

func settling(change func(*driven.Outcome)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
			outcomes = slices.Clone(outcomes)
			for i := range outcomes {
				outcomes[i].Slots = slices.Clone(outcomes[i].Slots)
				change(&outcomes[i])
			}
			return b.Store.Settle(ctx, outcomes)
		}
	}
}

func wanting(change func(*driven.Want)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onAdmit = func(ctx context.Context, r driven.AdmitRequest) (driven.Admission, error) {
			r.Wants = slices.Clone(r.Wants)
			for i := range r.Wants {
				change(&r.Wants[i])
			}
			return b.Store.Admit(ctx, r)
		}
	}
}

func admitting(change func(driven.AdmitRequest, *driven.Admission)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onAdmit = func(ctx context.Context, r driven.AdmitRequest) (driven.Admission, error) {
			got, err := b.Store.Admit(ctx, r)
			change(r, &got)
			return got, err
		}
	}
}

func declaring(change func(*domain.Declaration)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onDeclare = func(ctx context.Context, kinds []string, all []domain.Declaration) error {
			all = slices.Clone(all)
			for i := range all {
				change(&all[i])
			}
			return b.Store.Declare(ctx, kinds, all)
		}
	}
}

func showing(change func(*domain.Job)) func(*broken, *Harness) {
	return func(b *broken, _ *Harness) {
		b.onJob = func(ctx context.Context, id domain.JobID, tenant string) (domain.Job, error) {
			j, err := b.Store.Job(ctx, id, tenant)
			change(&j)
			return j, err
		}
	}
}

func admitMutants() []mutant {
	return []mutant{
		{"forgets the bounds of a claimed job", func(b *broken, _ *Harness) {
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := b.Store.Claim(ctx, r)
				for i := range got.Jobs {
					got.Jobs[i].Job.LimitKey, got.Jobs[i].Job.OnDead = "", domain.Continue
				}
				return got, err
			}
		}, []string{"bound/fields"}},
		{"forgets the keys of a row", showing(func(j *domain.Job) { j.Keys = nil }), []string{"bound/fields", "turn/names"}},
		{"admits whatever asks", func(b *broken, _ *Harness) {
			b.onAdmit = func(_ context.Context, r driven.AdmitRequest) (got driven.Admission, err error) {
				for _, w := range r.Wants {
					got.Admitted = append(got.Admitted, driven.Admitted{ID: w.Ticket.ID})
				}
				return got, nil
			}
		}, []string{"bound/all", "bound/first", "bound/parked", "bound/lost", "bound/limit", "bound/own", "bound/group", "bound/rate", "turn/mutex", "turn/head", "turn/chain"}},
		{"puts every job under the bounds of its kind", wanting(func(w *driven.Want) { w.Limit, w.Rate = true, true }), []string{"bound/open"}},
		{"knows no rates", wanting(func(w *driven.Want) { w.Rate = false }), []string{"bound/rate", "bound/window", "bound/all"}},
		{"says that a job waits for its last key", showing(func(j *domain.Job) {
			if j.BlockedOn == mutexKey("a") {
				j.BlockedOn = mutexKey("c")
			}
		}), []string{"bound/first", "turn/both"}},
		{"counts an attempt when it parks", showing(func(j *domain.Job) {
			if j.State == domain.Blocked {
				j.Attempts++
			}
		}), []string{"bound/parked"}},
		{"names another key than the one that lacks", admitting(func(_ driven.AdmitRequest, got *driven.Admission) {
			for i := range got.Parked {
				got.Parked[i].Key += "x"
			}
		}), []string{"bound/parked", "bound/limit", "turn/head", "bound/many"}},
		{"answers for claims that are lost", admitting(func(r driven.AdmitRequest, got *driven.Admission) {
			for _, w := range r.Wants {
				if !slices.ContainsFunc(got.Parked, func(p driven.Parking) bool { return p.ID == w.Ticket.ID }) {
					got.Admitted = append(got.Admitted, driven.Admitted{ID: w.Ticket.ID})
				}
			}
		}), []string{"bound/lost"}},
		{"says nothing of those that it parks", admitting(func(_ driven.AdmitRequest, got *driven.Admission) { got.Parked = nil }), []string{"bound/race", "turn/race", "bound/model", "bound/limit"}},
		{"admits a part of many", func(b *broken, _ *Harness) {
			b.onAdmit = func(ctx context.Context, r driven.AdmitRequest) (driven.Admission, error) {
				r.Wants = r.Wants[:min(len(r.Wants), 500)]
				return b.Store.Admit(ctx, r)
			}
		}, []string{"bound/many"}},
		{"gives every job the bucket of its group", wanting(func(w *driven.Want) { w.OwnLimit, w.OwnRate = "", "" }), []string{"bound/own", "bound/names", "bound/apart", "bound/pages", "bound/waits", "bound/stats"}},
		{"folds the case of own keys", wanting(func(w *driven.Want) { w.OwnLimit = strings.ToLower(w.OwnLimit) }), []string{"bound/own", "bound/names", "bound/waits"}},
		{"fails for nothing", func(b *broken, _ *Harness) {
			b.onWake = func(ctx context.Context, keys []string) (driven.Woken, error) {
				if slices.Contains(keys, "") {
					return driven.Woken{}, &domain.Fault{Code: domain.Invalid, Op: "wake"}
				}
				return b.Store.Wake(ctx, keys)
			}
		}, []string{"bound/nothing"}},
	}
}

// waiting lists the jobs that wait for a key, in the order of their turn.
func waitingFor(ctx context.Context, s driven.Store, key string) []domain.JobID {
	jobs, _ := s.Jobs(ctx, domain.Filter{Waits: key}, domain.Page{Size: domain.MaxPage})
	slices.SortFunc(jobs, func(a, b domain.Job) int {
		if a.Priority != b.Priority {
			return a.Priority - b.Priority
		}
		if c := a.RunAt.Compare(b.RunAt); c != 0 {
			return c
		}
		return a.ID.Compare(b.ID)
	})
	ids := make([]domain.JobID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	return ids
}

// rouse makes jobs ready by force.
func rouse(ctx context.Context, s driven.Store, ids ...domain.JobID) (driven.Woken, error) {
	if len(ids) == 0 {
		return driven.Woken{}, nil
	}
	_, err := s.Retry(ctx, driven.EditRequest{IDs: ids})
	return driven.Woken{Jobs: len(ids), Queues: []string{queue}}, err
}

func wakeMutants() []mutant {
	return []mutant{
		{"wakes whatever waits", func(b *broken, _ *Harness) {
			b.onWake = func(ctx context.Context, keys []string) (driven.Woken, error) {
				var all []domain.JobID
				for _, key := range keys {
					all = append(all, waitingFor(ctx, b.Store, key)...)
				}
				return rouse(ctx, b.Store, all...)
			}
		}, []string{"bound/wake", "bound/lowered", "bound/raised", "turn/mutex", "turn/chain", "turn/released", "turn/both", "turn/block"}},
		{"wakes nobody", func(b *broken, _ *Harness) {
			b.onWake = func(context.Context, []string) (driven.Woken, error) { return driven.Woken{}, nil }
		}, []string{"bound/wake", "bound/many", "bound/keys", "bound/order", "bound/interleave", "turn/crossed", "turn/aside", "slot/orphan"}},
		{"wakes the last one", func(b *broken, _ *Harness) {
			b.onWake = func(ctx context.Context, keys []string) (driven.Woken, error) {
				waiting := waitingFor(ctx, b.Store, limit(""))
				return rouse(ctx, b.Store, waiting[max(0, len(waiting)-1):]...)
			}
		}, []string{"bound/order"}},
		{"wakes those of all keys", func(b *broken, _ *Harness) {
			b.onWake = func(ctx context.Context, keys []string) (driven.Woken, error) {
				all, err := b.Store.BlockedKeys(ctx, "", 100)
				if err != nil {
					return driven.Woken{}, err
				}
				return b.Store.Wake(ctx, append(all, keys...))
			}
		}, []string{"bound/apart"}},
		{"looks at the first thousand keys", func(b *broken, _ *Harness) {
			b.onWake = func(ctx context.Context, keys []string) (driven.Woken, error) {
				return b.Store.Wake(ctx, keys[:min(len(keys), 1000)])
			}
		}, []string{"bound/keys"}},
		{"shows a key that nobody waits for", showing(func(j *domain.Job) {
			if j.BlockedOn == "" {
				j.BlockedOn = limit("")
			}
		}), []string{"bound/edited", "bound/wake", "bound/fields"}},
		{"lists a key for each job", func(b *broken, _ *Harness) {
			b.onBlockedKeys = func(ctx context.Context, after string, n int) ([]string, error) {
				got, err := b.Store.BlockedKeys(ctx, after, n)
				if len(got) > 0 {
					got = append([]string{got[0]}, got...)
				}
				return got[:min(len(got), n)], err
			}
		}, []string{"bound/pages"}},
		{"ignores what a filter's jobs wait for", func(b *broken, _ *Harness) {
			b.onCount = func(ctx context.Context, f domain.Filter, n int) (int, bool, error) {
				f.Waits = ""
				return b.Store.Count(ctx, f, n)
			}
		}, []string{"bound/waits"}},
		{"counts a blocked job as due", func(b *broken, _ *Harness) {
			b.onStats = func(ctx context.Context, tenant string, n int) (domain.Stats, error) {
				got, err := b.Store.Stats(ctx, tenant, n)
				for i := range got.Lines {
					t := &got.Lines[i].Tally
					t.Due, t.Blocked = t.Due+t.Blocked, 0
				}
				return got, err
			}
		}, []string{"bound/stats"}},
	}
}

func declareMutants() []mutant {
	return []mutant{
		{"allows one more", declaring(func(d *domain.Declaration) { d.N++ }), []string{"bound/limit", "bound/own", "bound/group", "bound/rate", "bound/many", "bound/lowered"}},
		{"keeps the kinds of a group apart", declaring(func(d *domain.Declaration) { d.Group += d.Kind }), []string{"bound/group", "bound/newest", "bound/declared"}},
		{"keeps the first declaration", func(b *broken, _ *Harness) {
			seen := map[string]bool{}
			b.onDeclare = func(ctx context.Context, kinds []string, all []domain.Declaration) error {
				if slices.ContainsFunc(kinds, func(k string) bool { return seen[k] }) {
					return nil
				}
				for _, k := range kinds {
					seen[k] = true
				}
				return b.Store.Declare(ctx, kinds, all)
			}
		}, []string{"bound/newest", "bound/declared", "bound/lowered", "bound/slower", "bound/raised", "bound/removed", "bound/names"}},
		{"moves no kind to another group", func(b *broken, _ *Harness) {
			b.onDeclare = func(ctx context.Context, kinds []string, all []domain.Declaration) error {
				stored, _ := b.Store.Declared(ctx, "", 100)
				for _, d := range all {
					for _, old := range stored {
						if old.Kind == d.Kind && old.Sort == d.Sort && old.Group != d.Group {
							return nil
						}
					}
				}
				return b.Store.Declare(ctx, kinds, all)
			}
		}, []string{"bound/moved"}},
		{"forgets what is declared no more", func(b *broken, _ *Harness) {
			b.onDeclared = func(ctx context.Context, after string, n int) ([]domain.Declaration, error) {
				got, err := b.Store.Declared(ctx, after, n)
				return slices.DeleteFunc(got, func(d domain.Declaration) bool { return d.N == 0 }), err
			}
		}, []string{"bound/declared"}},
		{"loosens nothing", func(b *broken, _ *Harness) {
			b.onLoosen = func(context.Context, driven.LoosenRequest) (driven.Loosened, error) { return driven.Loosened{}, nil }
		}, []string{"bound/removed", "bound/moved"}},
		{"loosens nobody where a depth is named", func(b *broken, _ *Harness) {
			b.onLoosen = func(ctx context.Context, r driven.LoosenRequest) (driven.Loosened, error) {
				if r.Depth > 0 {
					return driven.Loosened{}, nil
				}
				return b.Store.Loosen(ctx, r)
			}
		}, []string{"bound/moved"}},
		{"loosens only what is declared no more", func(b *broken, _ *Harness) {
			b.onLoosen = func(ctx context.Context, n driven.LoosenRequest) (driven.Loosened, error) {
				stored, _ := b.Store.Declared(ctx, "", 100)
				if slices.ContainsFunc(stored, func(d domain.Declaration) bool { return d.N == 0 }) {
					return b.Store.Loosen(ctx, n)
				}
				return driven.Loosened{}, nil
			}
		}, []string{"bound/moved"}},
		{"loosens whoever waits", func(b *broken, _ *Harness) {
			b.onLoosen = func(ctx context.Context, _ driven.LoosenRequest) (driven.Loosened, error) {
				woken, err := rouse(ctx, b.Store, waitingFor(ctx, b.Store, limit(""))...)
				return driven.Loosened{Woken: woken}, err
			}
		}, []string{"bound/removed", "bound/moved"}},
	}
}

func slotMutants() []mutant {
	return []mutant{
		{"keeps the slots of an outcome", settling(func(o *driven.Outcome) { o.Slots = nil }), []string{"slot/settle", "slot/dropped", "slot/repeat", "slot/pages", "slot/live", "bound/limit"}},
		{"frees slots at once that are kept for a while", settling(func(o *driven.Outcome) {
			for i := range o.Slots {
				o.Slots[i].After = 0
			}
		}), []string{"bound/rate", "slot/settle", "slot/expire", "slot/held", "slot/idle"}},
		{"keeps the slots of a dropped outcome", func(b *broken, _ *Harness) {
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				bare := slices.Clone(outcomes)
				for i := range bare {
					bare[i].Slots = nil
				}
				got, err := b.Store.Settle(ctx, bare)
				for _, o := range outcomes {
					for _, s := range o.Slots {
						if !slices.Contains(got.Dropped, o.Ticket.ID) {
							_ = b.Store.Hold(ctx, []driven.Holding{{Ticket: o.Ticket, Slot: s.Slot, For: s.After, End: true}})
						}
					}
				}
				return got, err
			}
		}, []string{"slot/dropped"}},
		{"frees a slot whoever holds it", func(b *broken, _ *Harness) {
			held := map[domain.JobID]domain.Token{}
			b.onClaim = func(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
				got, err := b.Store.Claim(ctx, r)
				for _, j := range got.Jobs {
					held[j.Job.ID] = j.Token
				}
				return got, err
			}
			b.onSettle = func(ctx context.Context, outcomes []driven.Outcome) (driven.Settled, error) {
				holders, _ := b.Store.Held(ctx, domain.Slot{}, 100)
				for _, o := range outcomes {
					for _, s := range o.Slots {
						for _, h := range holders {
							if h.Slot == s.Slot {
								_ = b.Store.Hold(ctx, []driven.Holding{{Ticket: domain.Ticket{ID: h.Job, Token: held[h.Job]}, Slot: s.Slot, End: true}})
							}
						}
					}
				}
				return b.Store.Settle(ctx, outcomes)
			}
		}, []string{"slot/fence", "slot/repeat", "bound/window"}},
		{"holds nothing", func(b *broken, _ *Harness) {
			b.onHold = func(context.Context, []driven.Holding) error { return nil }
		}, []string{"slot/end", "slot/prolong", "bound/window"}},
		{"prolongs only what a claim holds", func(b *broken, _ *Harness) {
			b.onHold = func(ctx context.Context, all []driven.Holding) error {
				held := map[domain.Slot]bool{}
				holders, err := b.Store.Held(ctx, domain.Slot{}, 1000)
				for _, h := range holders {
					held[h.Slot] = h.Left == 0
				}
				if err != nil {
					return err
				}
				return b.Store.Hold(ctx, slices.DeleteFunc(slices.Clone(all), func(h driven.Holding) bool { return !h.End && !held[h.Slot] }))
			}
		}, []string{"slot/return"}},
		{"gives back what is to be held longer", func(b *broken, _ *Harness) {
			b.onHold = func(ctx context.Context, all []driven.Holding) error {
				all = slices.Clone(all)
				for i := range all {
					all[i].End = true
				}
				return b.Store.Hold(ctx, all)
			}
		}, []string{"slot/prolong"}},
		{"does not know again what a claim took", func(b *broken, _ *Harness) {
			asked := map[domain.Ticket]bool{}
			b.onAdmit = func(ctx context.Context, r driven.AdmitRequest) (got driven.Admission, err error) {
				var fresh driven.AdmitRequest
				for _, w := range r.Wants {
					if !asked[w.Ticket] {
						fresh.Wants = append(fresh.Wants, w)
					}
					asked[w.Ticket] = true
				}
				return b.Store.Admit(ctx, fresh)
			}
		}, []string{"bound/again"}},
		{"forgets the window of a claim that crashes", func(b *broken, _ *Harness) {
			b.onAdmit = func(ctx context.Context, r driven.AdmitRequest) (driven.Admission, error) {
				got, err := b.Store.Admit(ctx, r)
				for i, a := range got.Admitted {
					for _, s := range a.Slots {
						_ = b.Store.Hold(ctx, []driven.Holding{{Ticket: r.Wants[i].Ticket, Slot: s.Slot}})
					}
				}
				return got, err
			}
		}, []string{"slot/started"}},
		{"expires without a bound", func(b *broken, _ *Harness) {
			b.onExpire = func(ctx context.Context, _ int) (driven.Expired, error) { return b.Store.Expire(ctx, 1000) }
		}, []string{"slot/expire"}},
		{"expires nothing", func(b *broken, _ *Harness) {
			b.onExpire = func(context.Context, int) (driven.Expired, error) { return driven.Expired{Next: driven.NoNext}, nil }
		}, []string{"slot/expire", "slot/orphan", "slot/end", "bound/rate", "slot/stalled"}},
		{"reaps nothing", func(b *broken, _ *Harness) {
			b.onReap = func(context.Context, driven.ReapRequest) (driven.Reaped, error) { return driven.Reaped{}, nil }
		}, []string{"slot/orphan", "slot/pages", "slot/idle", "slot/stalled", "slot/prolong"}},
		{"lets no slot linger", func(b *broken, _ *Harness) {
			b.onReap = func(ctx context.Context, r driven.ReapRequest) (driven.Reaped, error) {
				r.Linger = 0
				return b.Store.Reap(ctx, r)
			}
		}, []string{"slot/orphan", "slot/stalled", "slot/pages"}},
		{"reaps what a lapsed lease holds", func(b *broken, _ *Harness) {
			b.onReap = func(ctx context.Context, r driven.ReapRequest) (driven.Reaped, error) {
				_, _ = b.Store.Recover(ctx, sweep())
				return b.Store.Reap(ctx, r)
			}
		}, []string{"slot/live"}},
		{"keeps rows of idle slots", func(b *broken, _ *Harness) {
			first := map[int]domain.Slot{}
			b.onReap = func(ctx context.Context, r driven.ReapRequest) (driven.Reaped, error) {
				got, err := b.Store.Reap(ctx, r)
				if at, ok := first[r.Limit]; ok && r.After == (domain.Slot{}) {
					got.Last = at
				} else if r.After == (domain.Slot{}) {
					first[r.Limit] = got.Last
				}
				return got, err
			}
		}, []string{"slot/idle"}},
		{"lists holders without their runner", func(b *broken, _ *Harness) {
			b.onHeld = func(ctx context.Context, after domain.Slot, n int) ([]domain.Holder, error) {
				got, err := b.Store.Held(ctx, after, n)
				for i := range got {
					got[i].Runner = ""
				}
				return got, err
			}
		}, []string{"slot/held", "slot/whose"}},
		{"names no runner of a slot whose claim is over", func(b *broken, _ *Harness) {
			b.onHeld = func(ctx context.Context, after domain.Slot, n int) ([]domain.Holder, error) {
				got, err := b.Store.Held(ctx, after, n)
				for i := range got {
					if got[i].Over {
						got[i].Runner = ""
					}
				}
				return got, err
			}
		}, []string{"slot/held", "slot/whose"}},
		{"calls what is held as new as its last prolongation", func(b *broken, _ *Harness) {
			var last time.Duration
			b.onHold = func(ctx context.Context, all []driven.Holding) error {
				last += time.Millisecond
				return b.Store.Hold(ctx, all)
			}
			b.onHeld = func(ctx context.Context, after domain.Slot, n int) ([]domain.Holder, error) {
				got, err := b.Store.Held(ctx, after, n)
				for i := range got {
					got[i].Since = got[i].Since.Add(last)
				}
				return got, err
			}
		}, []string{"slot/whose"}},
	}
}

func turnMutants() []mutant {
	silent := func(do func(context.Context, driven.EditRequest) ([]domain.Edited, error)) func(context.Context, driven.EditRequest) ([]domain.Edited, error) {
		return func(ctx context.Context, r driven.EditRequest) ([]domain.Edited, error) {
			got, err := do(ctx, r)
			for i := range got {
				got[i].Keys = nil
			}
			return got, err
		}
	}
	return []mutant{
		{"forgets the turns of a job", inserting(func(n *domain.NewJob) { n.Turn, n.Keys, n.OnDead = domain.NoTurn, nil, domain.Continue }), []string{
			"turn/mutex", "turn/head", "turn/aside", "turn/delayed", "turn/released", "turn/chain", "turn/due", "turn/dies", "turn/block", "turn/chains", "turn/unchain",
			"turn/cancel", "turn/delete", "turn/reschedule", "turn/retry", "turn/both", "turn/many", "turn/tenants", "turn/names", "turn/prune", "bound/fields", "bound/all",
		}},
		{"knows the first key alone", inserting(func(n *domain.NewJob) { n.Keys = n.Keys[:min(len(n.Keys), 1)] }), []string{"turn/both", "turn/many", "turn/block", "bound/first"}},
		{"takes turns by id alone", inserting(func(n *domain.NewJob) {
			if n.Turn != domain.NoTurn {
				n.Due = domain.Due{}
			}
		}), []string{"turn/mutex", "turn/due", "turn/delayed"}},
		{"lets the jobs of a chain step aside", inserting(func(n *domain.NewJob) {
			if n.Turn == domain.TurnChain {
				n.Turn, n.OnDead = domain.TurnMutex, domain.Continue
			}
		}), []string{"turn/chain", "turn/due", "turn/block", "bound/model"}},
		{"keeps the place of a job that waits for its next attempt", inserting(func(n *domain.NewJob) {
			if n.Turn == domain.TurnMutex {
				n.Turn = domain.TurnChain
			}
		}), []string{"turn/aside"}},
		{"moves the place of a released job", settling(func(o *driven.Outcome) {
			if o.To == domain.Ready {
				o.To, o.After = domain.Scheduled, time.Millisecond
			}
		}), []string{"turn/released", "turn/chain"}},
		{"lets no dead job block its chain", inserting(func(n *domain.NewJob) { n.OnDead = domain.Continue }), []string{"turn/block", "turn/chains", "turn/unchain", "turn/prune", "turn/delete"}},
		{"lets every dead job block its chain", inserting(func(n *domain.NewJob) {
			if n.Turn == domain.TurnChain {
				n.OnDead = domain.Block
			}
		}), []string{"turn/dies"}},
		{"names whose turn it is among those who wait", func(b *broken, _ *Harness) {
			b.onHeads = func(ctx context.Context, keys []string) (map[string]domain.JobID, error) {
				got, err := b.Store.Heads(ctx, keys)
				for key, id := range got {
					if job, err := b.Store.Job(ctx, id, ""); err != nil || job.State != domain.Blocked {
						delete(got, key)
					}
				}
				return got, err
			}
		}, []string{"turn/heads"}},
		{"lists chains without a bound", func(b *broken, _ *Harness) {
			b.onChains = func(ctx context.Context, after string, _ int) ([]domain.Chain, error) {
				return b.Store.Chains(ctx, after, 100)
			}
		}, []string{"turn/chains"}},
		{"releases no chain", func(b *broken, _ *Harness) {
			b.onUnchain = func(_ context.Context, key string) (driven.Unchained, error) {
				return driven.Unchained{Dead: 1, Keys: []string{key}}, nil
			}
		}, []string{"turn/unchain"}},
		{"lets a late outcome block a released chain again", func(b *broken, _ *Harness) {
			late := false
			b.onSettle = func(ctx context.Context, all []driven.Outcome) (driven.Settled, error) {
				got, err := b.Store.Settle(ctx, all)
				late = late || len(got.Dropped) > 0
				return got, err
			}
			b.onChains = func(ctx context.Context, after string, n int) ([]domain.Chain, error) {
				got, err := b.Store.Chains(ctx, after, n)
				if late && after == "" {
					got = append(got, domain.Chain{Key: "c0:again"})
				}
				return got, err
			}
		}, []string{"turn/late"}},
		{"names no other keys of a released chain", func(b *broken, _ *Harness) {
			b.onUnchain = func(ctx context.Context, key string) (driven.Unchained, error) {
				answer, err := b.Store.Unchain(ctx, key)
				answer.Keys = []string{key}
				return answer, err
			}
		}, []string{"turn/unchain"}},
		{"names no keys of what an operator changed", func(b *broken, _ *Harness) {
			b.onCancel, b.onDelete = silent(b.Store.Cancel), silent(b.Store.Delete)
			b.onReschedule, b.onRetry = silent(b.Store.Reschedule), silent(b.Store.Retry)
		}, []string{"turn/cancel", "turn/delete", "turn/reschedule", "turn/retry"}},
		{"lets tenants wait for each other", inserting(func(n *domain.NewJob) { n.Tenant = "" }), []string{"turn/tenants"}},
		{"folds the case of turns", inserting(func(n *domain.NewJob) {
			n.Keys = slices.Clone(n.Keys)
			for i := range n.Keys {
				n.Keys[i] = strings.ToLower(n.Keys[i])
			}
		}), []string{"turn/names", "turn/chains"}},
		{"keeps the place of a pruned job", func(b *broken, _ *Harness) {
			b.onPrune = func(context.Context, driven.PruneRequest) (driven.Pruned, error) {
				return driven.Pruned{Removed: 1}, nil
			}
		}, []string{"turn/prune"}},
	}
}

// TestBook: the checker of the racing cases finds what it is there to find.
func TestBook(t *testing.T) {
	moment := time.Unix(1000, 0)
	job := func(i byte, due time.Duration, turn domain.Turn, keys ...string) domain.NewJob {
		return domain.NewJob{ID: domain.JobID{i}, Turn: turn, Keys: keys, Due: domain.Due{At: moment.Add(due)}}
	}
	running := func(n domain.NewJob, limits ...string) started {
		s := started{Claimed: driven.Claimed{Job: domain.Job{ID: n.ID, RunAt: n.Due.At}}}
		for _, key := range append(limits, n.TurnKeys()...) {
			s.slots = append(s.slots, domain.HeldSlot{Slot: domain.Slot{Key: key}})
		}
		return s
	}
	for _, turn := range []domain.Turn{domain.TurnMutex, domain.TurnChain} {
		first, second, third := job(2, 0, turn, "a"), job(1, time.Second, turn, "a", "b"), job(3, time.Second, turn, "b")
		b := newBook(2)
		early := b.ask()
		b.expect([]domain.NewJob{third, second, first})
		b.list([]domain.NewJob{third, second, first})
		for _, s := range []domain.NewJob{second, third} {
			if b.enter(running(s), b.ask()) == nil {
				t.Errorf("%v was let start before those whose turn it was", s.ID)
			}
			b.leave(running(s), keeps)
		}
		if err := b.enter(running(third), early); err != nil {
			t.Error("a job was refused for one that it could not know of:", err)
		}
		if b.enter(running(second), early) == nil {
			t.Error("two were let run at one key")
		}
		b.leave(running(second), keeps)
		b.leave(running(third), forGood)
		if err := b.enter(running(first), b.ask()); err != nil {
			t.Error(err)
		}
		b.leave(running(first), moves)
		if err := b.enter(running(second), b.ask()); (err == nil) != (turn == domain.TurnMutex) {
			t.Errorf("the one behind a job that waits for its next attempt: %v", err)
		}
		b.leave(running(second), forGood)
		b.leave(running(first), blocks)
		if b.release(domain.TurnKey(turn, "", "a")); b.rest() != 0 {
			t.Errorf("%d jobs are left", b.rest())
		}
	}
	b := newBook(2)
	for i := range byte(3) {
		if err := b.enter(running(job(i, 0, domain.NoTurn), limit("")), b.ask()); (err == nil) != (i < 2) {
			t.Errorf("the job %d under a limit of 2: %v", i, err)
		}
	}
}
