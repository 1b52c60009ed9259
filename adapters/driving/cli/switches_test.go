package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

// fakeSwitches remembers what is paused.
type fakeSwitches struct {
	paused []domain.Paused
	err    error
}

func (f *fakeSwitches) Pause(_ context.Context, x domain.Switch) error {
	f.paused = append(f.paused, domain.Paused{Switch: x, Since: now()})
	return f.err
}

func (f *fakeSwitches) Resume(_ context.Context, x domain.Switch) error {
	f.paused = nil
	return f.err
}

func (f *fakeSwitches) Paused(context.Context) ([]domain.Paused, error) { return f.paused, f.err }

func TestSwitches(t *testing.T) {
	f := &fake{switches: &fakeSwitches{}}
	got := runner{fake: f}.run(t, "queues", "pause", "mail")
	if got.code != 0 || !strings.Contains(got.out, "queue mail is paused") || f.switches.paused[0].Switch != (domain.Switch{Name: "mail"}) {
		t.Fatalf("%+v, %+v", got, f.switches.paused)
	}
	got = runner{fake: f}.run(t, "queues", "list", "--json")
	if got.code != 0 || !strings.Contains(got.out, `{"name":"mail","paused_since":"2026-01-02T03:04:05.678Z","pending":0`) {
		t.Errorf("%+v", got)
	}
	if got = (runner{fake: f}).run(t, "kinds", "list"); got.code != 0 || strings.Contains(got.out, "2026") {
		t.Errorf("a queue that is paused is shown as a kind: %+v", got)
	}
	if got = (runner{fake: f}).run(t, "kinds", "pause", "x", "--json"); got.code != 0 || got.out != `{"sort":"kind","name":"x","paused":true}`+"\n" {
		t.Errorf("%+v", got)
	}
	if got = (runner{fake: f}).run(t, "queues", "resume", "mail"); got.code != 0 || len(f.switches.paused) != 0 {
		t.Errorf("%+v", got)
	}
	f.switches.err = &domain.Fault{Code: domain.Unsupported, Op: "pause", Hint: "run `rowlock migrate up`"}
	if got = (runner{fake: f}).run(t, "queues", "pause", "mail"); got.code == 0 || !strings.Contains(got.err, "migrate up") {
		t.Errorf("%+v", got)
	}
}
