package operate_test

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// fake keeps ids and states and records what it was asked for.
type fake struct {
	driven.Finder  // all but Match are not asked for
	driven.Bounds  // all but Wake are not asked for
	driven.Batcher // all but FinishBatches are not asked for
	batches        map[domain.JobID]domain.BatchID
	looked         [][]domain.BatchID
	finishErr      error
	woken          []string
	jobs           map[domain.JobID]domain.State
	keys           map[domain.JobID][]string
	requests       []driven.EditRequest
	filters        []domain.Filter
	onEdit         func(*fake) // runs after each edit
	onMatch        func(*fake) // runs after each page is found
	err            error       // what edits answer from the failAt-th on
	failAt         int
	wakeErr        error
}

func id(n int) domain.JobID {
	return domain.JobID{6: 0x70, 8: 0x80, 14: byte(n >> 8), 15: byte(n)}
}

func (f *fake) add(n int, state domain.State) { f.jobs[id(n)] = state }

func newFake(dead, ready int) *fake {
	f := &fake{jobs: map[domain.JobID]domain.State{}}
	for n := range dead {
		f.add(n+1, domain.Dead)
	}
	for n := range ready {
		f.add(dead+n+1, domain.Ready)
	}
	return f
}

func (f *fake) Match(_ context.Context, filter domain.Filter, page domain.Page) ([]domain.JobID, error) {
	f.filters = append(f.filters, filter)
	var ids []domain.JobID
	for id, state := range f.jobs {
		chosen := len(filter.States) == 0 || slices.Contains(filter.States, state)
		if chosen && (page.Before.IsZero() || id.Compare(page.Before) < 0) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b domain.JobID) int { return b.Compare(a) })
	if f.onMatch != nil {
		f.onMatch(f)
	}
	return ids[:min(len(ids), page.Size)], nil
}

func (f *fake) Wake(_ context.Context, keys []string) (driven.Woken, error) {
	f.woken = append(f.woken, keys...)
	if f.wakeErr != nil {
		return driven.Woken{}, f.wakeErr
	}
	return driven.Woken{Jobs: len(keys), Queues: []string{"q"}}, nil
}

// FinishBatches finishes every batch that it is asked for.
func (f *fake) FinishBatches(_ context.Context, ids []domain.BatchID) (done []driven.Finished, err error) {
	f.looked = append(f.looked, slices.Clone(ids))
	if f.finishErr != nil {
		return nil, f.finishErr
	}
	for _, id := range ids {
		done = append(done, driven.Finished{Batch: domain.Batch{ID: id, Callback: &domain.Template{Kind: "callback"}}, Queue: "callbacks"})
	}
	return done, nil
}

// edit moves every job but running ones.
func (f *fake) edit(req driven.EditRequest, change func(domain.JobID)) ([]domain.Edited, error) {
	f.requests = append(f.requests, req)
	if f.err != nil && len(f.requests) >= f.failAt {
		return nil, f.err
	}
	edited := make([]domain.Edited, len(req.IDs))
	for i, id := range req.IDs {
		edited[i].ID = id
		switch state, there := f.jobs[id]; {
		case !there:
			edited[i].Err = &domain.Fault{Code: domain.NotFound}
		case state == domain.Running, len(req.States) > 0 && !slices.Contains(req.States, state):
			edited[i].Err = &domain.Fault{Code: domain.Conflict}
		default:
			change(id)
			edited[i].Keys = f.keys[id]
			if state, there := f.jobs[id]; !there || state.Terminal() {
				edited[i].Batch = f.batches[id]
			}
		}
	}
	if f.onEdit != nil {
		f.onEdit(f)
	}
	return edited, nil
}

func (f *fake) Retry(_ context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	return f.edit(req, func(id domain.JobID) { f.jobs[id] = domain.Ready })
}

func (f *fake) Cancel(_ context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	return f.edit(req, func(id domain.JobID) { f.jobs[id] = domain.Cancelled })
}

func (f *fake) Delete(_ context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	return f.edit(req, func(id domain.JobID) { delete(f.jobs, id) })
}

func (f *fake) Reschedule(_ context.Context, req driven.EditRequest) ([]domain.Edited, error) {
	return f.edit(req, func(id domain.JobID) { f.jobs[id] = domain.Scheduled })
}
