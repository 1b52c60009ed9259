package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// What keeps a job, and who runs it, is in the table; what is behind that in its own.
func TestJobsSayWhatKeepsThem(t *testing.T) {
	blocked, running, stuck := aJob(), aJob(), aJob()
	blocked.State, blocked.BlockedOn = domain.Blocked, "l:smtp:eu"
	blocked.Turn, blocked.Keys, blocked.OnDead, blocked.Snoozes = domain.TurnChain, []string{"account:42"}, domain.Block, 3
	running.State, running.Runner = domain.Running, "host-1"
	stuck.State, stuck.Runner, stuck.Stuck, stuck.Timeout, stuck.LeaseUntil = domain.Running, "host-2", true, 90*time.Second, now()
	f := &fake{jobs: []domain.Job{blocked, running, stuck}}
	text := runner{fake: f}.run(t, "jobs", "list").out
	for _, part := range []string{"waits for l:smtp:eu", "on host-1", "stuck on host-2"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	for i, parts := range [][]string{
		{"waits for   l:smtp:eu", "chain       account:42", "on dead     block", "tags        t", "snoozes     3", "ran 1.001ms"},
		{"runner      host-1"},
		{"runner      host-2", "lease until 2026-01-02", "stuck       its handler", "timeout     1m30s"},
	} {
		f.jobs = []domain.Job{[]domain.Job{blocked, running, stuck}[i]}
		text := runner{fake: f}.run(t, "jobs", "show", id(5).String()).out
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in\n%s", part, text)
			}
		}
		if i == 1 && (strings.Contains(text, "lease until") || strings.Contains(text, "stuck")) {
			t.Errorf("it says more than there is:\n%s", text)
		}
	}
}
