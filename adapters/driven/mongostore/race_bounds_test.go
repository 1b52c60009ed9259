package mongostore_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
)

// chained inserts jobs of one chain.
func chained(t *testing.T, s driven.Store, n int) []domain.NewJob {
	t.Helper()
	all := jobs(n)
	for i := range all {
		all[i].Turn, all[i].Keys = domain.TurnChain, []string{"c"}
	}
	if _, err := s.Insert(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	return all
}

// admitting asks for the bounds of one claimed job.
func admitting(t *testing.T, s driven.Store, c driven.Claimed) driven.Admission {
	t.Helper()
	want := driven.Want{Ticket: c.Ticket(), Kind: c.Job.Kind, Limit: true, Rate: true, Turn: c.Job.Turn != domain.NoTurn}
	got, err := s.Admit(t.Context(), driven.AdmitRequest{Wants: []driven.Want{want}})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func heldSlots(t *testing.T, s driven.Store) []domain.Holder {
	t.Helper()
	all, err := s.Held(t.Context(), domain.Slot{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func ending(c driven.Claimed) []driven.Outcome {
	return []driven.Outcome{{Ticket: c.Ticket(), To: domain.Done, Counts: true, Keep: time.Hour, Turn: true}}
}

// A slot that another takes between the look and the write is lost, and its key is to be woken.
func TestAdmitThatLosesItsSlot(t *testing.T) {
	s, other, plan := planned(t)
	d := domain.Declaration{Kind: "test/job", Sort: domain.BoundLimit, Group: "g", N: 1}
	if err := other.Declare(t.Context(), []string{d.Kind}, []domain.Declaration{d}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Insert(t.Context(), jobs(2)); err != nil {
		t.Fatal(err)
	}
	first, second := claim(t, other, 1).Jobs[0], claim(t, other, 1).Jobs[0]
	plan.At(6, faults.Before, faults.Do(func() { // after the steps, the claims, the kinds, the groups and the slots
		if got := admitting(t, other, second); len(got.Admitted) != 1 {
			t.Errorf("the other got %+v", got)
		}
	}))
	got := admitting(t, s, first)
	if len(got.Parked) != 1 || got.Parked[0].Key != d.Key("") || !slices.Equal(got.Wake, []string{d.Key("")}) || plan.Pending() > 0 {
		t.Errorf("got %+v; %q", got, plan.Statements())
	}
	if held := heldSlots(t, other); len(held) != 1 || held[0].Job != second.Job.ID {
		t.Errorf("held: %+v", held)
	}
}

// A give-back that comes after the caller asked again, and won, takes nothing from it.
func TestLateGiveBackTakesNothing(t *testing.T) {
	s, other, plan := planned(t)
	chained(t, other, 2)
	ahead, c := claim(t, other, 1).Jobs[0], claim(t, other, 1).Jobs[0]
	plan.At(7, faults.Before, faults.Do(func() { // after the steps, the claims, the kinds, the slots, the take and the head
		if _, err := other.Settle(t.Context(), ending(ahead)); err != nil {
			t.Error(err)
		}
		if got := admitting(t, other, c); len(got.Admitted) != 1 {
			t.Errorf("the second call got %+v", got)
		}
	}))
	admitting(t, s, c)
	if held := heldSlots(t, other); len(held) != 1 || held[0].Job != c.Job.ID || plan.Pending() > 0 {
		t.Errorf("held: %+v; %q", held, plan.Statements())
	}
}

// A slot that is prolonged between the look of a sweep and its write stays.
func TestReapThatIsOvertaken(t *testing.T) {
	s, other, plan := planned(t)
	chained(t, other, 1)
	c := claim(t, other, 1).Jobs[0]
	slot := admitting(t, other, c).Admitted[0].Slots[0].Slot
	if _, err := other.Settle(t.Context(), ending(c)); err != nil { // the handler runs on
		t.Fatal(err)
	}
	plan.At(4, faults.Before, faults.Do(func() { // after the steps, the slots and the jobs
		if err := other.Hold(t.Context(), []driven.Holding{{Ticket: c.Ticket(), Slot: slot, For: time.Hour}}); err != nil {
			t.Error(err)
		}
	}))
	got, err := s.Reap(t.Context(), driven.ReapRequest{Limit: 10})
	if err != nil || got.Orphans > 0 || plan.Pending() > 0 {
		t.Errorf("got %+v, %v; %q", got, err, plan.Statements())
	}
	if held := heldSlots(t, other); len(held) != 1 || held[0].Left < time.Minute {
		t.Errorf("held: %+v", held)
	}
}

// A dead job of a chain comes back to the place that it has then, not to the one that was read.
func TestRetryOfAChainThatIsOvertaken(t *testing.T) {
	s, other, plan := planned(t)
	id := chained(t, other, 1)[0].ID
	dead := ending(claim(t, other, 1).Jobs[0])
	dead[0].To = domain.Dead
	if _, err := other.Settle(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	later := driven.EditRequest{IDs: []domain.JobID{id}, Due: domain.Due{After: time.Hour}}
	plan.At(2, faults.Before, faults.Do(func() { // after the look
		for _, edit := range []editing{driven.Editor.Retry, driven.Editor.Reschedule} {
			if got, err := edit(other, t.Context(), later); err != nil || got[0].Err != nil {
				t.Error(got, err)
			}
		}
	}))
	got, err := s.Retry(t.Context(), driven.EditRequest{IDs: []domain.JobID{id}})
	if err != nil || got[0].Err != nil || plan.Pending() > 0 {
		t.Fatal(got, err, plan.Statements())
	}
	job, err := other.Job(t.Context(), id, "")
	if err != nil || job.State != domain.Ready {
		t.Fatal(job, err)
	}
	next := chained(t, other, 1)[0] // due before that place
	plan.Reset()
	all := claim(t, other, 2).Jobs
	if len(all) != 2 {
		t.Fatalf("%d jobs are due", len(all))
	}
	for _, c := range all {
		if a := admitting(t, other, c); len(a.Admitted) == 1 && a.Admitted[0].ID != next.ID {
			t.Errorf("job %s starts before the one ahead of it", a.Admitted[0].ID)
		}
	}
}

// Places, keys and what a job waits for are in its own document.
func TestDocumentOfTurns(t *testing.T) {
	t.Parallel()
	uri := servers.Mongo(t)
	b := opened(t, mongostore.Config{URI: uri})
	chained(t, b.Store, 2)
	first, second := claim(t, b.Store, 1).Jobs[0], claim(t, b.Store, 1).Jobs[0]
	admitting(t, b.Store, second)
	var doc bson.M
	jobs := connect(t, uri).Database(database(t, uri)).Collection("rowlock_jobs")
	read := func(id domain.JobID) bson.M {
		t.Helper()
		doc = bson.M{}
		if err := jobs.FindOne(t.Context(), bson.D{{Key: "_id", Value: bson.Binary{Subtype: 4, Data: id[:]}}}).Decode(&doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	if d := read(second.Job.ID); d["blocked_on"] != "c0:c" || d["place"] != d["due_at"] || d["turn"] != int32(2) || d["token"] != nil {
		t.Errorf("parked: %v", d)
	}
	if _, err := b.Store.Settle(t.Context(), ending(first)); err != nil {
		t.Fatal(err)
	}
	if d := read(first.Job.ID); d["place"] != nil || d["keys"] == nil {
		t.Errorf("ended: %v", d)
	}
	if woken, err := b.Store.Wake(t.Context(), []string{"c0:c"}); err != nil || woken.Jobs != 1 {
		t.Fatal(woken, err)
	}
	if d := read(second.Job.ID); d["blocked_on"] != nil || d["state"] != int32(0) || d["wake_at"] != int64(0) {
		t.Errorf("woken: %v", d)
	}
}
