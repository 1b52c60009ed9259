package pgstore_test

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
	"github.com/rowlock/rowlock/test/servers"
)

// TestStatements: a call is a few statements, and a plain one of one as ever.
func TestStatements(t *testing.T) {
	fewStatements(t, suite{dsn: servers.Postgres(t), clock: true, pool: 1, faults: true}.open(t))
}

// fewStatements counts what calls send, however many rows they are about.
func fewStatements(t *testing.T, h conformance.Harness) {
	plan, s := h.Faults.(*faults.Plan), h.Backend.Store
	count := func(what string, most int, call func() error) {
		t.Helper()
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
	keyed := func(from, n int, how domain.OnConflict) []domain.NewJob {
		in := jobs(n)
		for i := range in {
			in[i].Due.After, in[i].Args = time.Hour+time.Duration(how)*time.Minute, fmt.Appendf(nil, "%q", in[i].ID)
			in[i].Unique = &domain.Unique{Key: fmt.Sprint("k", from+i), OnConflict: how}
		}
		return in
	}
	insert := func(in []domain.NewJob) func() error {
		return func() error { _, err := s.Insert(t.Context(), in); return err }
	}
	count("a plain job", 1, insert(jobs(1)))
	count("plain jobs", 1, insert(jobs(200)))
	count("free keys", 2, insert(keyed(0, 200, domain.Replace)))
	count("held keys", 3, insert(keyed(0, 200, domain.Replace)))
	count("held keys, to be rescheduled", 3, insert(keyed(0, 200, domain.Reschedule)))
	count("held and free keys", 3, insert(keyed(100, 200, domain.Replace)))

	settle := func(out []driven.Outcome) func() error {
		return func() error { _, err := s.Settle(t.Context(), out); return err }
	}
	outcomes := func(to domain.State) (out []driven.Outcome) {
		add(t, h.Backend, 100)
		for _, j := range claim(t, h.Backend, 100) {
			out = append(out, driven.Outcome{Ticket: j.Ticket(), To: to, Counts: true, Keep: time.Hour})
		}
		return out
	}
	count("done jobs", 1, settle(outcomes(domain.Done)))
	dead := outcomes(domain.Dead)
	count("dead jobs", 1, settle(dead))
	dead = outcomes(domain.Dead)
	for i, made := range jobs(len(dead)) {
		dead[i].Failure = &made
	}
	count("dead jobs with failure jobs", 3, settle(dead))
}
