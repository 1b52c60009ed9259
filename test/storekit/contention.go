package storekit

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/faults"
)

// Secret is what the text of a loss holds, and no fault that is answered may.
const Secret = "secret"

// Loss is the driver's error of the statement that is lost, by its number in its call.
type Loss func(step int) error

// By is a loss that turns from one error to the next, step by step.
func By(errs ...error) Loss {
	return func(step int) error { return errs[step%len(errs)] }
}

// Contention has each statement of each call lose to others in turn, once for each
// of the given losses: the call says that it is contended and has
// written nothing, and made again, as retrystore does, it passes. The harness has
// faults.Plan and a clock that can be advanced. Fewer lost statements than least
// means that the scenes no longer reach the statements.
func Contention(t *testing.T, h conformance.Harness, least int, losses ...Loss) {
	t.Helper()
	all, struck := scenes(h), 0
	for _, more := range []map[string]scene{boundScenes(h), uniqueScenes(h), batchScenes(h), scheduleScenes(h)} {
		maps.Copy(all, more)
	}
	for name, scene := range all {
		for _, loss := range losses {
			for step := 1; lose(t, h, name, scene, loss(step), step); step++ {
				struck++
			}
		}
	}
	if t.Logf("%d statements lost", struck); struck < least {
		t.Errorf("%d statements lost, want at least %d: the calls have more", struck, least)
	}
}

// scene sets up rows and gives the call, and the check once it was answered.
type scene func(testing.TB) (call func() error, check func())

// lose has the call lose at one step and says whether it came so far.
func lose(t *testing.T, h conformance.Harness, name string, play scene, loss error, step int) bool {
	t.Helper()
	plan := h.Faults.(*faults.Plan)
	call, check := play(t)
	plan.Reset()
	plan.At(step, faults.Before, faults.Fail(loss))
	err := call()
	hit, steps := plan.Pending() == 0, plan.Statements()
	plan.Reset()
	if hit && (domain.CodeOf(err) != domain.Contended || strings.Contains(err.Error(), Secret)) {
		t.Fatalf("%s, %v at step %d of %q: %v", name, loss, step, steps, err)
	}
	if hit {
		err = call()
	}
	if err != nil {
		t.Fatalf("%s, made again after %v at step %d of %q: %v, of %v", name, loss, step, steps, err, errors.Unwrap(err))
	}
	check()
	return hit
}
