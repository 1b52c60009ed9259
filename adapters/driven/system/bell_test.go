package system

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// listen starts a listener that is registered when it returns.
func listen(ctx context.Context, t *testing.T, b *Bell, hear func(string)) *sync.WaitGroup {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := b.Listen(ctx, hear); err != nil {
			t.Errorf("Listen: %v", err)
		}
	})
	synctest.Wait()
	return &wg
}

func TestBellReachesEveryListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		bell := NewBell()
		heard := make([][]string, 3)
		var ends []*sync.WaitGroup
		for i := range heard {
			ends = append(ends, listen(ctx, t, bell, func(q string) { heard[i] = append(heard[i], q) }))
		}
		bell.Notify()
		bell.Notify("b", "a")
		synctest.Wait()
		bell.Notify("a")
		synctest.Wait()
		stop()
		for i, end := range ends {
			end.Wait()
			if !slices.Equal(heard[i], []string{"a", "b", "a"}) {
				t.Errorf("listener %d heard %q", i, heard[i])
			}
		}
		bell.Notify("nobody") // must neither block nor panic
		if len(bell.lines) != 0 {
			t.Errorf("%d listeners are left", len(bell.lines))
		}
	})
}

func TestBellMergesWhatASlowListenerMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		bell, hold := NewBell(), make(chan struct{})
		var heard []string
		end := listen(ctx, t, bell, func(q string) {
			heard = append(heard, q)
			<-hold
		})
		bell.Notify("first")
		synctest.Wait() // the listener is stuck in hear
		for range 10_000 {
			bell.Notify("x", "y")
		}
		close(hold)
		synctest.Wait()
		stop()
		end.Wait()
		if !slices.Equal(heard, []string{"first", "x", "y"}) {
			t.Errorf("heard %q", heard)
		}
	})
}

func TestBellUnderRace(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	bell := NewBell()
	var listeners, ringers sync.WaitGroup
	got := make(chan string, 1)
	for range 4 {
		listeners.Go(func() {
			_ = bell.Listen(ctx, func(q string) {
				select {
				case got <- q:
				default:
				}
			})
		})
	}
	for range 4 {
		ringers.Go(func() {
			for range 1_000 {
				bell.Notify("q")
			}
		})
	}
	ringers.Wait()
	for done := false; !done; { // listeners may have come late: ring until one hears
		select {
		case <-got:
			done = true
		default:
			bell.Notify("q")
		}
	}
	stop()
	listeners.Wait()
}
