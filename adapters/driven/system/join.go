package system

import (
	"context"
	"fmt"
	"sync"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Join makes one notifier of several: the bell of the process and what the store
// has for other processes. What is nil is left out.
func Join(notifiers ...driven.Notifier) driven.Notifier {
	var all joined
	for _, n := range notifiers {
		if n != nil {
			all = append(all, n)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

type joined []driven.Notifier

// Notify hints through each.
func (j joined) Notify(queues ...string) {
	for _, n := range j {
		n.Notify(queues...)
	}
}

// Listen hears from each. The first that fails ends the others: a listener that
// is armed anew is armed as a whole.
func (j joined) Listen(ctx context.Context, hear func(queue string)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var listening sync.WaitGroup
	failed := make(chan error, len(j))
	for _, n := range j {
		listening.Go(func() {
			if err := n.Listen(ctx, hear); err != nil {
				failed <- err
				stop()
			}
		})
	}
	listening.Wait()
	if len(j) == 0 {
		<-ctx.Done()
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// Tee makes one observer of several. What is nil is left out; of none it makes
// one that looks away. An observer that panics ends neither the caller nor the
// telling: the others hear the event, and that one failed to take it.
func Tee(observers ...driven.Observer) driven.Observer {
	var all tee
	for _, o := range observers {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

type tee []driven.Observer

// Observe tells each.
func (t tee) Observe(e domain.Event) {
	for i, o := range t {
		if p := observe(o, e); p != nil {
			t.tellOf(i, fmt.Errorf("an observer of type %T panicked: %v", o, p))
		}
	}
}

// tellOf tells the others that one failed; what panics at that too stays untold.
func (t tee) tellOf(failed int, err error) {
	for i, o := range t {
		if i != failed {
			_ = observe(o, domain.Event{Type: domain.EventError, Operation: "observe", Err: err})
		}
	}
}

func observe(o driven.Observer, e domain.Event) (panicked any) {
	defer func() { panicked = recover() }()
	o.Observe(e)
	return nil
}
