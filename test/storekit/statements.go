package storekit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/faults"
)

// FewStatements checks how many statements calls send, however many rows they are
// about. Its harness has faults.Plan, by which it counts.
func FewStatements(t *testing.T, h conformance.Harness) {
	insert := func(in []domain.NewJob) func() error {
		return func() error { _, err := h.Backend.Store.Insert(t.Context(), in); return err }
	}
	few(t, h, "a plain job", 1, insert(Jobs(1)))
	few(t, h, "plain jobs", 1, insert(Jobs(200)))
	few(t, h, "free keys", 2, insert(keyed(0, 200, domain.Replace)))
	few(t, h, "held keys", 3, insert(keyed(0, 200, domain.Replace)))
	few(t, h, "held keys, to be rescheduled", 3, insert(keyed(0, 200, domain.Reschedule)))
	few(t, h, "held and free keys", 3, insert(keyed(100, 200, domain.Replace)))

	settle := func(out []driven.Outcome) func() error {
		return func() error { _, err := h.Backend.Store.Settle(t.Context(), out); return err }
	}
	few(t, h, "done jobs", 1, settle(outcomes(t, h.Backend, domain.Done)))
	few(t, h, "dead jobs", 1, settle(outcomes(t, h.Backend, domain.Dead)))
	dead := outcomes(t, h.Backend, domain.Dead)
	for i, made := range Jobs(len(dead)) {
		dead[i].Failure = &made
	}
	few(t, h, "dead jobs with failure jobs", 3, settle(dead))
}

// few makes a call and counts its statements about the store's tables.
func few(t *testing.T, h conformance.Harness, what string, most int, call func() error) {
	t.Helper()
	plan := h.Faults.(*faults.Plan)
	plan.Reset()
	if err := call(); err != nil {
		t.Fatal(what, err)
	}
	var sent []string
	for _, text := range plan.Statements() {
		if strings.Contains(text, "rowlock_") {
			sent = append(sent, text)
		}
	}
	if sent = slices.Compact(sent); len(sent) > most { // a statement may be prepared and then run
		t.Errorf("%s: %d statements, want at most %d: %q", what, len(sent), most, sent)
	}
}

// keyed are n delayed jobs with unique keys that count from a number.
func keyed(from, n int, how domain.OnConflict) []domain.NewJob {
	in := Jobs(n)
	for i := range in {
		in[i].Due.After, in[i].Args = time.Hour+time.Duration(how)*time.Minute, fmt.Appendf(nil, "%q", in[i].ID)
		in[i].Unique = &domain.Unique{Key: fmt.Sprint("k", from+i), OnConflict: how}
	}
	return in
}

// outcomes are those of a hundred jobs that run.
func outcomes(t *testing.T, b driven.Backend, to domain.State) (out []driven.Outcome) {
	t.Helper()
	Add(t, b, 100)
	for _, j := range Claim(t, b, 100) {
		out = append(out, driven.Outcome{Ticket: j.Ticket(), To: to, Counts: true, Keep: time.Hour})
	}
	return out
}
