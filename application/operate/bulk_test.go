package operate_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/rowlock/rowlock/application/operate"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

var all = driving.Bulk{All: true}

func TestBulkChoosesDeadUnlessAllIsMeant(t *testing.T) {
	dead := []domain.State{domain.Dead}
	cases := map[string]struct {
		bulk driving.Bulk
		want []domain.State
	}{
		"empty":          {driving.Bulk{}, dead},
		"a queue":        {driving.Bulk{Filter: domain.Filter{Queue: "q"}}, dead},
		"all":            {all, nil},
		"a queue, all":   {driving.Bulk{Filter: domain.Filter{Queue: "q"}, All: true}, nil},
		"states":         {driving.Bulk{Filter: domain.Filter{States: []domain.State{domain.Done}}}, []domain.State{domain.Done}},
		"states and all": {driving.Bulk{Filter: domain.Filter{States: []domain.State{domain.Done}}, All: true}, []domain.State{domain.Done}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			store := newFake(3, 2)
			if _, err := operate.New(operate.Deps{Store: store}).DeleteAll(t.Context(), c.bulk); err != nil {
				t.Fatal(err)
			}
			if got := store.filters[0]; !slices.Equal(got.States, c.want) || got.Queue != c.bulk.Filter.Queue {
				t.Errorf("asked for %+v, want states %v", got, c.want)
			}
		})
	}
}

func TestBulkMeetsEachJobOnceAndAddsUp(t *testing.T) {
	store := newFake(1_234, 10)
	store.onMatch = func(f *fake) { // a runner claims one of the first page before the edit
		if len(f.filters) == 1 {
			f.add(1_000, domain.Running)
		}
	}
	seen := map[domain.JobID]int{}
	var progress [][2]int
	bulk := driving.Bulk{
		Each: func(edited []domain.Edited) {
			for _, e := range edited {
				seen[e.ID]++
			}
		},
		Progress: func(done, refused int) { progress = append(progress, [2]int{done, refused}) },
	}
	result, err := operate.New(operate.Deps{Store: store}).RetryAll(t.Context(), bulk, domain.Due{})
	if err != nil || result != (driving.BulkResult{Done: 1_233, Refused: 1}) {
		t.Fatalf("%+v, %v", result, err)
	}
	if len(seen) != 1_234 || slices.Max(slices.Collect(maps.Values(seen))) != 1 {
		t.Errorf("%d jobs were met", len(seen))
	}
	if want := [][2]int{{499, 1}, {999, 1}, {1_233, 1}}; !slices.Equal(progress, want) {
		t.Errorf("progress was %v, want %v", progress, want)
	}
}

// What is enqueued or dies again while a bulk call runs is not part of it, so the call ends.
func TestBulkIsOverTheJobsAsItBegan(t *testing.T) {
	store := newFake(1_100, 0)
	next := 2_000
	store.onEdit = func(f *fake) {
		for range 600 { // more than a page comes in for each page that goes
			next++
			f.add(next, domain.Dead)
		}
		for _, id := range f.requests[len(f.requests)-1].IDs {
			f.jobs[id] = domain.Dead // retried, and dead again at once
		}
	}
	result, err := operate.New(operate.Deps{Store: store}).RetryAll(t.Context(), driving.Bulk{}, domain.Due{})
	if err != nil || result.Done != 1_100 {
		t.Errorf("%+v, %v; want the 1,100 of the beginning", result, err)
	}
}

func TestBulkStaysInItsTenant(t *testing.T) {
	ctx := domain.WithTenant(t.Context(), "acme")
	store := newFake(2, 0)
	store.add(3, domain.Ready)
	service := operate.New(operate.Deps{Store: store})
	if got, err := service.CancelAll(ctx, driving.Bulk{}); err != nil || got.Done != 1 {
		t.Fatalf("%+v, %v; want the one that has not ended", got, err)
	}
	if store.filters[0].Tenant != "acme" || store.requests[0].Tenant != "acme" {
		t.Errorf("asked %+v, then %+v", store.filters[0], store.requests[0])
	}
	if live := []domain.State{domain.Ready, domain.Scheduled, domain.Blocked, domain.Running}; !slices.Equal(store.requests[0].States, live) {
		t.Errorf("jobs in %v are cancelled, want %v", store.requests[0].States, live)
	}
	_, err := service.CancelAll(ctx, driving.Bulk{Filter: domain.Filter{Tenant: "other"}})
	if domain.CodeOf(err) != domain.Invalid || len(store.filters) != 1 {
		t.Errorf("another tenant's jobs: %v", err)
	}
}

// Whoever else moved a job between the choice and the change keeps it as it is.
func TestBulkChangesJobsInTheirChosenStateAlone(t *testing.T) {
	store := newFake(3, 0)
	store.onMatch = func(f *fake) { f.add(2, domain.Done) } // another operator's retry, and its run
	service := operate.New(operate.Deps{Store: store})
	result, err := service.RetryAll(t.Context(), driving.Bulk{}, domain.Due{})
	if err != nil || result != (driving.BulkResult{Done: 2, Refused: 1}) || store.jobs[id(2)] != domain.Done {
		t.Errorf("%+v, %v; the job is %v", result, err, store.jobs[id(2)])
	}
	store.onMatch = nil
	if result, err := service.DeleteAll(t.Context(), all); err != nil || result.Done != 3 {
		t.Errorf("with all meant: %+v, %v", result, err)
	}
}

func TestBulkOverNamedJobs(t *testing.T) {
	store := newFake(1_100, 2)
	service := operate.New(operate.Deps{Store: store})
	var ids []domain.JobID
	for n := range 1_102 {
		ids = append(ids, id(n+1))
	}
	result, err := service.DeleteAll(t.Context(), driving.Bulk{IDs: ids})
	if err != nil || result != (driving.BulkResult{Done: 1_100, Refused: 2}) || len(store.filters) != 0 {
		t.Errorf("%+v, %v", result, err)
	}
	for _, bulk := range []driving.Bulk{
		{IDs: ids, Filter: domain.Filter{Queue: "q"}},
		{IDs: ids, Filter: domain.Filter{States: []domain.State{domain.Ready}, Error: "x"}},
	} {
		if _, err := service.DeleteAll(t.Context(), bulk); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("ids beside %+v: %v", bulk.Filter, err)
		}
	}
	result, err = service.RetryAll(t.Context(), driving.Bulk{IDs: ids[1_100:], Filter: domain.Filter{States: []domain.State{domain.Ready}}}, domain.Due{})
	if err != nil || result.Done != 2 {
		t.Errorf("with states: %+v, %v", result, err)
	}
}

// wakes counts hints.
type wakes struct{ heard []string }

func (w *wakes) Notify(queues ...string)                    { w.heard = append(w.heard, queues...) }
func (w *wakes) Listen(context.Context, func(string)) error { return nil }

func TestWhatIsMadeDueWakesRunners(t *testing.T) {
	ctx, ids, absent := t.Context(), []domain.JobID{id(1)}, []domain.JobID{id(99)}
	for name, c := range map[string]struct {
		call func(*operate.Service) error
		want int
	}{
		"retry":         {func(s *operate.Service) error { _, err := s.Retry(ctx, ids, domain.Due{}); return err }, 1},
		"reschedule":    {func(s *operate.Service) error { _, err := s.Reschedule(ctx, ids, domain.Due{}); return err }, 1},
		"retry all":     {func(s *operate.Service) error { _, err := s.RetryAll(ctx, all, domain.Due{}); return err }, 1},
		"cancel":        {func(s *operate.Service) error { _, err := s.Cancel(ctx, ids); return err }, 0},
		"delete":        {func(s *operate.Service) error { _, err := s.Delete(ctx, ids); return err }, 0},
		"retry of none": {func(s *operate.Service) error { _, err := s.Retry(ctx, absent, domain.Due{}); return err }, 0},
		"retry all of none": {func(s *operate.Service) error {
			_, err := s.RetryAll(ctx, driving.Bulk{IDs: absent}, domain.Due{})
			return err
		}, 0},
	} {
		w := &wakes{}
		if err := c.call(operate.New(operate.Deps{Store: newFake(2, 0), Wake: w})); err != nil {
			t.Fatal(err)
		}
		if len(w.heard) != c.want || c.want > 0 && w.heard[0] != "" {
			t.Errorf("%s: hints for %q", name, w.heard)
		}
	}
}
