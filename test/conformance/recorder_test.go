package conformance

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// recorder is a test that fails without failing the test around it.
type recorder struct {
	testing.TB
	mu      sync.Mutex
	failed  bool
	said    []string
	cleanup []func()
}

func (r *recorder) Helper() {}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanup = append(r.cleanup, f)
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) FailNow()                          { r.Fail(); runtime.Goexit() }
func (r *recorder) Log(args ...any)                   { r.Logf("%s", fmt.Sprint(args...)) }
func (r *recorder) Error(args ...any)                 { r.Log(args...); r.Fail() }
func (r *recorder) Errorf(format string, args ...any) { r.Logf(format, args...); r.Fail() }
func (r *recorder) Fatal(args ...any)                 { r.Log(args...); r.FailNow() }
func (r *recorder) Fatalf(format string, args ...any) { r.Logf(format, args...); r.FailNow() }
func (r *recorder) Skip(args ...any)                  { r.Log(args...); runtime.Goexit() }
func (r *recorder) Skipf(format string, args ...any)  { r.Logf(format, args...); runtime.Goexit() }

// attempt runs one case over a store and gives what the case said if it failed.
func attempt(t testing.TB, name string, open func(testing.TB) Harness) (failed bool, said []string) {
	t.Helper()
	run := find(t, name)
	return record(t, func(r *recorder) { run(newCase(r, open(r))) })
}

// record runs a test that may fail.
func record(t testing.TB, run func(*recorder)) (failed bool, said []string) {
	t.Helper()
	r := &recorder{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		run(r)
	}()
	<-ended
	for i := len(r.cleanup) - 1; i >= 0; i-- {
		r.cleanup[i]()
	}
	return r.failed, r.said
}

// find gives a case by its full name.
func find(t testing.TB, name string) func(*rig) {
	t.Helper()
	for _, cat := range categories() {
		for _, k := range cat.cases {
			if cat.name+"/"+k.name == name {
				return k.run
			}
		}
	}
	t.Fatalf("there is no case %q", name)
	return nil
}
