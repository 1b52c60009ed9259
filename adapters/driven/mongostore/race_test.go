package mongostore_test

import (
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
)

// planned is a store between whose commands others may act, and one of those others.
func planned(t *testing.T) (s, other driven.Store, plan *faults.Plan) {
	t.Helper()
	t.Parallel()
	plan = faults.NewPlan()
	cfg := mongostore.Config{URI: servers.Mongo(t)}
	h := harness(t, cfg, func(o *options.ClientOptions) { o.SetDialer(faults.Dialer{Plan: plan}) })
	if _, err := h.Backend.Store.Queues(t.Context(), "", 1); err != nil { // so that it has looked for its steps
		t.Fatal(err)
	}
	plan.Reset()
	return h.Backend.Store, open(t, cfg).Store, plan
}

// A claim whose candidates are taken from it again and again still gets what it
// asked for, no more, and in order.
func TestClaimThatLosesEveryRound(t *testing.T) {
	s, other, plan := planned(t)
	all := jobs(40)
	if _, err := other.Insert(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for _, update := range []int{3, 6, 9} { // after the first scheduled and the candidates, and every three commands
		plan.At(update, faults.Before, faults.Do(func() {
			if n := len(claim(t, other, 5).Jobs); n != 5 {
				t.Errorf("the other claimer got %d jobs", n)
			}
		}))
	}
	got := claim(t, s, 5)
	if len(got.Jobs) != 5 || !got.More || plan.Pending() > 0 {
		t.Fatalf("%d jobs, more: %v; %q", len(got.Jobs), got.More, plan.Statements())
	}
	for i, j := range got.Jobs {
		if j.Job.ID != all[15+i].ID {
			t.Errorf("job %d is not the next in order", i)
		}
	}
}

// conflicting inserts two jobs, the second of which loses its key to another
// between the look and the write.
func conflicting(t *testing.T, s, other driven.Store, plan *faults.Plan) (call, holder []domain.NewJob) {
	t.Helper()
	call, holder = jobs(2), jobs(1)
	call[1].Unique = &domain.Unique{Key: "k", OnConflict: domain.Error}
	holder[0].Unique = &domain.Unique{Key: "k"}
	plan.At(3, faults.Before, faults.Do(func() { // after the look for ids and for keys
		if _, err := other.Insert(t.Context(), holder); err != nil {
			t.Error(err)
		}
	}))
	_, err := s.Insert(t.Context(), call)
	var f *domain.Fault
	if !errors.As(err, &f) || f.Code != domain.Conflict || f.Subject != holder[0].ID.String() || plan.Pending() > 0 {
		t.Fatalf("got %v; %q", err, plan.Statements())
	}
	return call, holder
}

// A call that is refused after a lost race leaves nothing of itself behind.
func TestConflictAfterALostRaceLeavesNothing(t *testing.T) {
	s, other, plan := planned(t)
	_, holder := conflicting(t, s, other, plan)
	left, err := other.Match(t.Context(), domain.Filter{}, domain.Page{})
	if err != nil || len(left) != 1 || left[0] != holder[0].ID {
		t.Errorf("%v are left, %v", left, err)
	}
}

// What a runner has claimed by then is not taken from it.
func TestConflictAfterALostRaceLeavesWhatRuns(t *testing.T) {
	s, other, plan := planned(t)
	plan.At(3, faults.After, faults.Do(func() { claim(t, other, 10) }))
	call, holder := conflicting(t, s, other, plan)
	left, err := other.Match(t.Context(), domain.Filter{States: []domain.State{domain.Running}}, domain.Page{})
	if err != nil || len(left) != 2 || left[0] != holder[0].ID || left[1] != call[0].ID {
		t.Errorf("%v are left, %v", left, err)
	}
}

// A job that moves between an operator's look and his write is judged anew.
func TestEditThatIsOvertaken(t *testing.T) {
	s, other, plan := planned(t)
	all := jobs(2)
	if _, err := other.Insert(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	plan.At(2, faults.Before, faults.Do(func() { claim(t, other, 1) })) // after the look
	got, err := s.Reschedule(t.Context(), driven.EditRequest{IDs: []domain.JobID{all[0].ID, all[1].ID}})
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if domain.CodeOf(got[0].Err) != domain.Conflict || got[1].Err != nil || plan.Pending() > 0 {
		t.Errorf("answers %v; %q", got, plan.Statements())
	}
}

// A cancel ends the claim that it read, or judges anew: of two claims and an outcome
// that come between its look and its write it is the last one that it meets.
func TestCancelThatIsOvertaken(t *testing.T) {
	for name, end := range map[string]domain.State{"claimed": domain.Running, "claimed anew": domain.Ready, "over": domain.Done} {
		t.Run(name, func(t *testing.T) {
			s, other, plan := planned(t)
			all := jobs(1)
			if _, err := other.Insert(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			var last driven.Claimed
			settle := func(to domain.State) {
				o := driven.Outcome{Ticket: last.Ticket(), To: to, Counts: to == domain.Done, Keep: time.Hour}
				if _, err := other.Settle(t.Context(), []driven.Outcome{o}); err != nil {
					t.Error(err)
				}
			}
			first := claim(t, other, 1).Jobs[0]
			plan.At(2, faults.Before, faults.Do(func() { // after the look
				if last = first; end != domain.Running {
					settle(end)
				}
				if end == domain.Ready {
					last = claim(t, other, 1).Jobs[0]
				}
			}))
			got, err := s.Cancel(t.Context(), driven.EditRequest{IDs: []domain.JobID{all[0].ID}, Keep: time.Hour})
			if err != nil || plan.Pending() > 0 {
				t.Fatal(got, err)
			}
			want, code := domain.Cancelled, domain.Code("")
			if end == domain.Done {
				want, code = end, domain.Conflict
			}
			settle(domain.Dead) // changes nothing any more
			if row, err := other.Job(t.Context(), all[0].ID, ""); err != nil || row.State != want || domain.CodeOf(got[0].Err) != code {
				t.Errorf("the answer is %v, the job %v, %v", got[0].Err, row.State, err)
			}
		})
	}
}
