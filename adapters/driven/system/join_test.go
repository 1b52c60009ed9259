package system

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rowlock/rowlock/domain"
)

// deaf is a notifier whose listener fails when it is told to.
type deaf struct{ fail chan error }

func (deaf) Notify(...string) {}

func (d deaf) Listen(ctx context.Context, _ func(string)) error {
	select {
	case err := <-d.fail:
		return err
	case <-ctx.Done():
		return nil
	}
}

func TestJoinHearsEachAndNotifiesEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		a, b := NewBell(), NewBell()
		both := Join(a, nil, b)
		heard := make(chan string, 10)
		end := listenTo(ctx, t, both.Listen, func(q string) { heard <- q })
		a.Notify("a")
		b.Notify("b")
		both.Notify("both")
		synctest.Wait()
		stop()
		if err := <-end; err != nil {
			t.Errorf("the end of the context is no error: %v", err)
		}
		close(heard)
		count := map[string]int{}
		for q := range heard {
			count[q]++
		}
		if count["a"] != 1 || count["b"] != 1 || count["both"] != 2 {
			t.Errorf("heard %v", count)
		}
	})
}

func TestJoinEndsAsAWholeWhenOneFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := deaf{make(chan error)}
		end := listenTo(t.Context(), t, Join(NewBell(), broken).Listen, func(string) {})
		gone := errors.New("gone")
		broken.fail <- gone
		if err := <-end; !errors.Is(err, gone) {
			t.Errorf("got %v", err)
		}
	})
}

func TestJoinOfOneIsThatOneAndOfNoneWaits(t *testing.T) {
	bell := NewBell()
	if Join(nil, bell) != bell {
		t.Error("one notifier needs no joining")
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		end := listenTo(ctx, t, Join().Listen, func(string) {})
		select {
		case err := <-end:
			t.Errorf("it ended: %v", err)
		default:
		}
		stop()
		if err := <-end; err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func listenTo(ctx context.Context, t *testing.T, listen func(context.Context, func(string)) error, hear func(string)) <-chan error {
	t.Helper()
	end := make(chan error, 1)
	go func() { end <- listen(ctx, hear) }()
	synctest.Wait()
	return end
}

// count is an observer that counts.
type count struct{ n int }

func (c *count) Observe(domain.Event) { c.n++ }

func TestTeeTellsEach(t *testing.T) {
	a, b := &count{}, &count{}
	Tee(a, nil, b).Observe(domain.Event{})
	Tee(nil, a).Observe(domain.Event{})
	Tee().Observe(domain.Event{})
	if a.n != 2 || b.n != 1 {
		t.Errorf("told %d and %d times", a.n, b.n)
	}
}

// angry panics at every event.
type angry struct{}

func (angry) Observe(domain.Event) { panic("no") }

// last keeps the events that it hears.
type last struct{ events []domain.Event }

func (l *last) Observe(e domain.Event) { l.events = append(l.events, e) }

func TestAnObserverThatPanicsSilencesNobody(t *testing.T) {
	before, after := &last{}, &last{}
	Tee(before, angry{}, angry{}, after).Observe(domain.Event{Type: domain.EventDied})
	for _, l := range []*last{before, after} {
		died, failed := 0, 0
		for _, e := range l.events {
			switch {
			case e.Type == domain.EventDied:
				died++
			case e.Type == domain.EventError && e.Operation == "observe" && strings.Contains(e.Err.Error(), "angry"):
				failed++
			}
		}
		if died != 1 || failed != 2 {
			t.Errorf("heard %+v", l.events)
		}
	}
	Tee(angry{}).Observe(domain.Event{}) // nobody is there to be told
}
