package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func (c *rig) ok(what string, err error) {
	c.Helper()
	if err != nil {
		c.Fatalf("%s: %v (cause: %v)", what, err, errors.Unwrap(err))
	}
}

// wantNil checks the answers for single ids.
func (c *rig) wantNil(what string, errs ...error) {
	c.Helper()
	for i, err := range errs {
		if err != nil {
			c.Fatalf("%s, answer %d: %v", what, i, err)
		}
	}
}

// wantCode checks that the error is a fault of the one type with that code.
func (c *rig) wantCode(what string, err error, want domain.Code) {
	c.Helper()
	var f *domain.Fault
	switch {
	case err == nil:
		c.Fatalf("%s gave no error, want %s", what, want)
	case !errors.As(err, &f):
		c.Fatalf("%s gave an error that is no *domain.Fault: %T %v", what, err, err)
	case f.Code != want:
		c.Fatalf("%s gave %v, want the code %s", what, err, want)
	case f.Op == "":
		c.Fatalf("%s gave a fault that does not say what was tried: %v", what, err)
	}
}

// newRand makes a source whose numbers are the same in every run.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// equal checks one value.
func equal[T any](c *rig, what string, got, want T) {
	c.Helper()
	if !reflect.DeepEqual(got, want) {
		c.Fatalf("%s:\n got %s\nwant %s", what, clip(got), clip(want))
	}
}

// equalIDs checks a list of ids; none is none, nil or not.
func equalIDs(c *rig, what string, got, want []domain.JobID) {
	c.Helper()
	if !slices.Equal(got, want) {
		equal(c, what, got, want)
	}
}

// clip keeps a failure readable whatever the size of the value.
func clip(v any) string {
	text := fmt.Sprintf("%+v", v)
	if b, ok := v.([]byte); ok {
		text = fmt.Sprintf("%q", b)
	}
	return domain.CleanText(text, 2000)
}

// race runs act n times at once, from one barrier. A store may answer that it
// was contended (nothing was written, nothing is retried below this port); then
// the act is run again, as retrystore does.
func (c *rig) race(n int, act func(i int) error) {
	c.Helper()
	var ready, finished sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, n)
	for i := range n {
		ready.Add(1)
		finished.Go(func() {
			ready.Done()
			<-start
			errs[i] = uncontended(func() error { return act(i) })
		})
	}
	ready.Wait()
	close(start)
	finished.Wait()
	for i, err := range errs {
		c.ok(fmt.Sprintf("racer %d of %d", i, n), err)
	}
}

// uncontended repeats an act that lost against others, boundedly.
func uncontended(act func() error) error {
	for try := 0; ; try++ {
		err := act()
		if domain.CodeOf(err) != domain.Contended || try == 100 {
			return err
		}
		wait(time.Duration(try+1) * time.Millisecond)
	}
}
