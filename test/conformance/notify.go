package conformance

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func notifyCases() []testCase {
	return []testCase{
		{"hears", notifyHears},
		{"ends", notifyEnds},
	}
}

func notifyOptional(h Harness) (present bool, missing string) { return h.Backend.Notify != nil, "" }

// listen hears hints until the case ends.
func (c *rig) listen(ctx context.Context) (heard <-chan string, ended <-chan error) {
	hints, end := make(chan string, 100), make(chan error, 1)
	go func() {
		end <- c.Backend.Notify.Listen(ctx, func(q string) {
			select {
			case hints <- q:
			default:
			}
		})
	}()
	return hints, end
}

// hears: a hint reaches a listener by the queue's exact name; "" is any queue. One may be lost,
// so the notifier is asked again until it is heard.
func notifyHears(c *rig) {
	ctx, cancel := context.WithCancel(c.Context())
	heard, ended := c.listen(ctx)
	for _, name := range []string{"mail", "Mail ", "日本", ""} {
		c.hear(heard, name)
	}
	cancel()
	c.listeningEnds(ended)
}

func (c *rig) hear(heard <-chan string, want string) {
	c.Helper()
	deadline := time.After(patience)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		c.Backend.Notify.Notify(want)
		select {
		case got := <-heard:
			if got == want {
				return
			}
		case <-again.C:
		case <-deadline:
			c.Fatalf("no listener heard of queue %q", want)
		}
	}
}

// ends: listening ends with its context.
func notifyEnds(c *rig) {
	ctx, cancel := context.WithCancel(c.Context())
	_, ended := c.listen(ctx)
	cancel()
	c.listeningEnds(ended)
}

func (c *rig) listeningEnds(ended <-chan error) {
	c.Helper()
	select {
	case err := <-ended:
		if err != nil && domain.CodeOf(err) != domain.Canceled {
			c.Fatalf("listening ended with %v", err)
		}
	case <-time.After(patience):
		c.Fatal("listening goes on after its context ended")
	}
}
