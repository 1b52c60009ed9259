package enqueue_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestOneTransactionForAll(t *testing.T) {
	in := func(tx driven.HostTx) enqueue.Item {
		return enqueue.Item{Args: hello{}, Options: []enqueue.Option{enqueue.In(tx)}}
	}
	for name, items := range map[string][]enqueue.Item{
		"some": {in(tx("fake")), {Args: hello{}}}, "two": {in(tx("fake")), in(tx("b"))}, "uncomparable": {in(listTx{}), in(listTx{})},
	} {
		f := &fake{}
		_, err := client(f, nil).EnqueueMany(t.Context(), items)
		if domain.CodeOf(err) != domain.Invalid || f.calls != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := &fake{}
	_, err := client(f, nil).EnqueueMany(t.Context(), []enqueue.Item{in(tx("fake")), in(tx("fake"))})
	must(t, err)
	none := enqueue.New(enqueue.Config{Store: f, IDs: f})
	_, _, err = none.Enqueue(t.Context(), hello{}, enqueue.In(tx("fake")))
	wantCode(t, err, domain.Unsupported)
}

func TestHostTransactionIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{start: time.Now()}
		c := client(f, nil)
		put := func() {
			t.Helper()
			_, _, err := c.Enqueue(t.Context(), hello{}, enqueue.In(tx("fake")))
			must(t, err)
		}
		want := func(marks ...time.Duration) {
			t.Helper()
			f.mu.Lock()
			defer f.mu.Unlock()
			if fmt.Sprint(f.wokenA) != fmt.Sprint(marks) {
				t.Fatalf("woken at %v, want %v", f.wokenA, marks)
			}
			f.wokenA = nil
		}
		ms := time.Millisecond
		put()
		time.Sleep(2 * time.Second)
		want(20*ms, 50*ms, 100*ms, 200*ms, 500*ms)
		// A write in the middle begins the series anew, and it stays one series.
		f.start = time.Now()
		put()
		time.Sleep(300 * ms)
		put()
		put()
		time.Sleep(2 * time.Second)
		want(20*ms, 50*ms, 100*ms, 200*ms, 320*ms, 350*ms, 400*ms, 500*ms, 800*ms)
		// A stream of writes does not put the first probe off.
		f.start = time.Now()
		for range 10 {
			put()
			time.Sleep(5 * ms)
		}
		f.mu.Lock()
		seen := len(f.wokenA)
		f.mu.Unlock()
		if seen < 2 {
			t.Fatalf("%d probes in 50 ms of writes", seen)
		}
		if len(f.events) != 0 {
			t.Fatalf("events of uncommitted jobs: %v", f.events)
		}
		time.Sleep(2 * time.Second)
	})
}
