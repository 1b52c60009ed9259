package retrystore

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// failing is a store each of whose methods fails as it is told.
type failing struct {
	driven.Store
	calls int
	err   func(call int) error
}

func (f *failing) fail() error {
	f.calls++
	return f.err(f.calls)
}

func (f *failing) Insert(context.Context, []domain.NewJob) ([]driven.Inserted, error) {
	return nil, f.fail()
}

func (f *failing) Leave(context.Context, string) error { return f.fail() }

func contended() error { return &domain.Fault{Code: domain.Contended, Op: "insert"} }

func wrapped(s driven.Store) driven.Store { return Wrap(driven.Backend{Store: s}).Store }

func TestContentionIsRetriedUntilItPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{err: func(call int) error {
			if call < 4 {
				return contended()
			}
			return nil
		}}
		began := time.Now()
		if _, err := wrapped(f).Insert(t.Context(), nil); err != nil {
			t.Fatalf("insert after three lost tries: %v", err)
		}
		if f.calls != 4 {
			t.Fatalf("%d calls, want 4", f.calls)
		}
		// 10 + 20 + 40 ms, each times 0.5 to 1.5
		if took := time.Since(began); took < 35*time.Millisecond || took > 105*time.Millisecond {
			t.Fatalf("waited %v, want 35 to 105 ms", took)
		}
	})
}

func TestTriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{err: func(int) error { return contended() }}
		if err := wrapped(f).Leave(t.Context(), "r"); domain.CodeOf(err) != domain.Contended {
			t.Fatalf("got %v, want contended", err)
		}
		if f.calls != tries {
			t.Fatalf("%d calls, want %d", f.calls, tries)
		}
	})
}

func TestOtherFaultsAreNotRetried(t *testing.T) {
	for _, err := range []error{
		&domain.Fault{Code: domain.Unavailable}, &domain.Fault{Code: domain.Conflict}, errors.New("plain"), context.Canceled,
	} {
		f := &failing{err: func(int) error { return err }}
		if got := wrapped(f).Leave(t.Context(), "r"); !errors.Is(got, err) || f.calls != 1 {
			t.Errorf("%v: got %v after %d calls, want it at once", err, got, f.calls)
		}
	}
}

func TestTheContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Millisecond) // below the shortest first wait
		defer cancel()
		f := &failing{err: func(int) error { return contended() }}
		if err := wrapped(f).Leave(ctx, "r"); domain.CodeOf(err) != domain.Contended || f.calls != 1 {
			t.Fatalf("got %v after %d calls, want the contention after one", err, f.calls)
		}
	})
}

// panicking has no methods of its own: a call that reaches it panics on the nil store.
type panicking struct{ driven.Store }

func TestEveryMethodIsForwarded(t *testing.T) {
	s := wrapped(panicking{})
	v := reflect.ValueOf(s)
	for i := range v.NumMethod() {
		m := v.Type().Method(i)
		reached := func() (reached bool) {
			defer func() { reached = recover() != nil }()
			args := make([]reflect.Value, m.Type.NumIn()-1)
			for j := range args {
				args[j] = reflect.Zero(m.Type.In(j + 1))
			}
			v.Method(i).Call(args)
			return false
		}()
		if !reached {
			t.Errorf("%s never reached the store below", m.Name)
		}
	}
}
