package enqueue_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestUniqueForFallsIntoTheBucketOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := client(f, nil)
		put := func() domain.Unique {
			t.Helper()
			_, _, err := c.Enqueue(t.Context(), hello{}, enqueue.UniqueFor("k", 48*time.Hour), enqueue.OnConflict(domain.Replace))
			must(t, err)
			return *f.rows[len(f.rows)-1].Unique
		}
		first := put()
		time.Sleep(time.Until(time.Unix((first.Bucket+1)*48*3600, 0)) - time.Second)
		same := put()
		time.Sleep(time.Second)
		next := put()
		if first.Bucket != time.Unix(first.Bucket*48*3600, 0).Unix()/(48*3600) || same != first || next.Bucket != first.Bucket+1 {
			t.Errorf("buckets %v, %v, %v", first, same, next)
		}
		if first.Key != "k" || first.Window != 48*time.Hour || first.OnConflict != domain.Replace {
			t.Errorf("the key is %+v", first)
		}
		if keep := f.rows[0].Keep; keep != (domain.Retention{Done: 48 * time.Hour, Dead: domain.KeepForever, Cancelled: 48 * time.Hour}) {
			t.Errorf("the row would go before its window: %+v", keep)
		}
	})
}

func TestUniqueForHasTheKindsRetentionWhereThatIsLonger(t *testing.T) {
	f, r := &fake{}, work.NewRegistry()
	must(t, work.Handle(r, func(context.Context, work.Job[hello]) error { return nil }, work.Keep(domain.Retention{Done: 72 * time.Hour, Cancelled: time.Minute})))
	_, _, err := client(f, r).Enqueue(t.Context(), hello{}, enqueue.UniqueFor("k", time.Hour))
	must(t, err)
	if keep := f.rows[0].Keep; keep.Done != 72*time.Hour || keep.Cancelled != time.Hour {
		t.Errorf("kept %+v", keep)
	}
}

func TestUniqueForOfRawJobs(t *testing.T) {
	f := &fake{}
	mine := domain.NewJob{Kind: "k", Args: []byte("{}"), Unique: &domain.Unique{Key: "u", Window: time.Hour}}
	_, err := client(f, nil).Add(t.Context(), []domain.NewJob{mine})
	must(t, err)
	if got := f.rows[0]; got.Unique.Bucket == 0 || got.Keep.Done < time.Hour {
		t.Errorf("the row is %+v", got)
	}
	if mine.Unique.Bucket != 0 {
		t.Error("the caller's job was changed")
	}
}

func TestUniqueForNeedsAClockAndAWindow(t *testing.T) {
	f := &fake{}
	blind := enqueue.New(enqueue.Config{Store: f, IDs: f})
	_, _, err := blind.Enqueue(t.Context(), hello{}, enqueue.UniqueFor("k", time.Hour))
	wantCode(t, err, domain.Unsupported)
	if !strings.Contains(err.Error(), "Clock") {
		t.Error(err)
	}
	for _, window := range []time.Duration{0, -1, time.Millisecond, time.Second + time.Millisecond, domain.MaxUniqueWindow + time.Second} {
		_, _, err := client(f, nil).Enqueue(t.Context(), hello{}, enqueue.UniqueFor("k", window))
		wantCode(t, err, domain.Invalid)
	}
	if len(f.rows) != 0 {
		t.Error("something was written")
	}
	_, _, err = client(f, nil).Enqueue(t.Context(), hello{}, enqueue.UniqueFor("k", time.Hour), enqueue.Unique("k"))
	must(t, err)
	if f.rows[0].Unique.Window != 0 {
		t.Error("of two unique keys the last does not stand")
	}
}

func TestAMovedHolderIsToldAndItsTurnsAreWoken(t *testing.T) {
	for result, queue := range map[domain.Inserted]string{domain.Replaced: "default", domain.Rescheduled: ""} {
		f := &fake{
			exists: map[string]domain.JobID{"held": {9}},
			moved:  &driven.Inserted{ID: domain.JobID{9}, Result: result, Keys: []string{"c0:b", "c0:a", "c0:b"}},
		}
		job, got, err := client(f, nil).Enqueue(t.Context(), hello{}, enqueue.Unique("held"), enqueue.OnConflict(domain.Replace))
		must(t, err)
		if got != result || job.ID != (domain.JobID{9}) {
			t.Errorf("answer %v %v", got, job)
		}
		if strings.Join(f.turns, " ") != "c0:a c0:b" || !slices.Equal(f.woken, []string{"next", queue}) {
			t.Errorf("%v: woke turns %v, queues %q", result, f.turns, f.woken)
		}
		if len(f.events) != 1 || f.events[0].Type != domain.EventEnqueued || f.events[0].Operation != result.String() || f.events[0].Job != (domain.JobID{9}) {
			t.Errorf("%v: events %+v", result, f.events)
		}
	}
}

func TestATurnThatCannotBeWokenFailsNoEnqueue(t *testing.T) {
	f := &fake{
		exists: map[string]domain.JobID{"held": {9}}, onWake: errors.New("down"),
		moved: &driven.Inserted{ID: domain.JobID{9}, Result: domain.Replaced, Keys: []string{"m0:k"}},
	}
	_, _, err := client(f, nil).Enqueue(t.Context(), hello{}, enqueue.Unique("held"), enqueue.OnConflict(domain.Replace))
	must(t, err)
	if len(f.events) != 2 || f.events[0].Type != domain.EventError || f.events[0].Operation != "wake" {
		t.Errorf("events %+v", f.events)
	}
}
