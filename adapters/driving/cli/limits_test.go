package cli

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// fakeBounds is what there is to be shown.
type fakeBounds struct {
	declared []domain.Declaration
	held     []domain.Holder
	waiting  []driving.Waiting
	chains   []domain.Chain
	released string
	err      error
	after    []any // where the lists were asked to begin
}

// first is a page of a list.
func first[T any](f *fakeBounds, all []T, after any, limit int) ([]T, error) {
	f.after = append(f.after, after)
	return all[:min(limit, len(all))], f.err
}

func (f *fakeBounds) Declared(_ context.Context, after string, limit int) ([]domain.Declaration, error) {
	return first(f, f.declared, after, limit)
}

func (f *fakeBounds) Held(_ context.Context, after domain.Slot, limit int) ([]domain.Holder, error) {
	return first(f, f.held, after, limit)
}

func (f *fakeBounds) Waiting(_ context.Context, after string, limit int) ([]driving.Waiting, error) {
	return first(f, f.waiting, after, limit)
}

func (f *fakeBounds) Chains(_ context.Context, after string, limit int) ([]domain.Chain, error) {
	return first(f, f.chains, after, limit)
}

func (f *fakeBounds) Release(_ context.Context, key string) (driving.Released, error) {
	f.released = key
	return driving.Released{Dead: 1, Woken: 2}, f.err
}

func someBounds() *fakeBounds {
	return &fakeBounds{
		declared: []domain.Declaration{
			{Kind: "mail", Sort: domain.BoundLimit, Group: "smtp", N: 4, At: now()},
			{Kind: "mail", Sort: domain.BoundRate, Group: "smtp", N: 100, Window: 90 * time.Second, At: now()},
		},
		held: []domain.Holder{
			{Slot: domain.Slot{Key: "l:smtp:eu", Index: 3}, Job: id(7), Runner: "host-1", Since: now()},
			{Slot: domain.Slot{Key: "r:smtp:", Index: 0}, Over: true, Since: now(), Left: 1500 * time.Millisecond},
		},
		waiting: []driving.Waiting{{Key: "l:smtp:eu", N: 1000}, {Key: "m0:a\x1b[2Jb", N: 3, Exact: true, Turn: id(9)}},
		chains:  []domain.Chain{{Key: "c0:account:42", Job: id(8)}},
	}
}

func TestLimits(t *testing.T) {
	got := runner{fake: &fake{bounds: someBounds()}}.run(t, "limits", "--json")
	want := `{"declared":[` +
		`{"kind":"mail","sort":"limit","group":"smtp","n":4,"window_ms":0,"declared_at":"2026-01-02T03:04:05.678Z"},` +
		`{"kind":"mail","sort":"rate","group":"smtp","n":100,"window_ms":90000,"declared_at":"2026-01-02T03:04:05.678Z"}],"held":[` +
		`{"key":"l:smtp:eu","slot":3,"job":"` + id(7).String() + `","over":false,"runner":"host-1","since":"2026-01-02T03:04:05.678Z","left_ms":0},` +
		`{"key":"r:smtp:","slot":0,"job":"","over":true,"runner":"","since":"2026-01-02T03:04:05.678Z","left_ms":1500}],"more":false}` + "\n"
	if got.code != 0 || got.out != want {
		t.Errorf("%d, got\n%s, want\n%s", got.code, got.out, want)
	}
	text := runner{fake: &fake{bounds: someBounds()}}.run(t, "limits").out
	for _, part := range []string{"smtp", "1m30s", "l:smtp:eu", id(7).String(), "runs", "over", "host-1", "1.5s"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

func TestLimitsOfNothing(t *testing.T) {
	got := runner{fake: &fake{bounds: &fakeBounds{}}}.run(t, "limits", "blocked", "--json")
	if got.out != `{"waiting":[],"chains":[],"more":false}`+"\n" {
		t.Errorf("got %s", got.out)
	}
}

func TestLimitsBlocked(t *testing.T) {
	got := runner{fake: &fake{bounds: someBounds()}}.run(t, "limits", "blocked", "--json")
	want := `{"waiting":[{"key":"l:smtp:eu","jobs":1000,"exact":false,"turn":""},{"key":"m0:a\u001b[2Jb","jobs":3,"exact":true,"turn":"` + id(9).String() + `"}],` +
		`"chains":[{"key":"c0:account:42","job":"` + id(8).String() + `"}],"more":false}` + "\n"
	if got.code != 0 || got.out != want {
		t.Errorf("%d, got\n%s, want\n%s", got.code, got.out, want)
	}
	text := runner{fake: &fake{bounds: someBounds()}}.run(t, "limits", "blocked").out
	if !strings.Contains(text, "1000+") || !strings.Contains(text, id(9).String()) || !strings.Contains(text, "c0:account:42") || strings.Contains(text, "\x1b") {
		t.Errorf("got %q", text)
	}
}

func TestLimitsOfManySayThatThereAreMore(t *testing.T) {
	b := someBounds()
	b.chains, b.held = make([]domain.Chain, domain.MaxPage), make([]domain.Holder, domain.MaxPage)
	for _, args := range [][]string{{"limits", "blocked"}, {"limits"}} {
		if got := (runner{fake: &fake{bounds: b}}).run(t, args...); !strings.Contains(got.out, "more than 500") {
			t.Errorf("%v: got %s", args, got.out)
		}
	}
}

func TestLimitsBehindAKey(t *testing.T) {
	last := domain.Slot{Key: "l:z:", Index: 4}
	full := &fakeBounds{held: make([]domain.Holder, domain.MaxPage), chains: make([]domain.Chain, domain.MaxPage)}
	full.held[domain.MaxPage-1].Slot, full.chains[domain.MaxPage-1].Key = last, "c0:z"
	for _, x := range []struct {
		bounds *fakeBounds
		args   []string
		want   []any
	}{
		{someBounds(), []string{"limits"}, []any{"", domain.Slot{}}},
		{someBounds(), []string{"limits", "--after", "l:k:"}, []any{domain.Slot{Key: "l:k:", Index: domain.MaxSlots}}},
		{someBounds(), []string{"limits", "blocked", "--after", "c0:k"}, []any{"c0:k", "c0:k"}},
		{full, []string{"limits"}, []any{"", domain.Slot{}, last}}, // whether there is more is asked
		{full, []string{"limits", "blocked"}, []any{"", "", "c0:z"}},
	} {
		x.bounds.after = nil
		if got := (runner{fake: &fake{bounds: x.bounds}}).run(t, x.args...); got.code != 0 || !slices.Equal(x.bounds.after, x.want) {
			t.Errorf("%v: %d, asked for %v, want %v", x.args, got.code, x.bounds.after, x.want)
		}
	}
}

func TestLimitsRelease(t *testing.T) {
	b := someBounds()
	got := runner{fake: &fake{bounds: b}}.run(t, "limits", "release", "c0:account:42", "--json")
	if got.code != 0 || b.released != "c0:account:42" || got.out != `{"dead":1,"woken":2}`+"\n" {
		t.Errorf("%+v, released %q", got, b.released)
	}
	b.err = &domain.Fault{Code: domain.NotFound, Op: "release chain", Hint: "no dead job blocks this chain"}
	if got := (runner{fake: &fake{bounds: b}}).run(t, "limits", "release", "c0:x"); got.code == 0 || !strings.Contains(got.err, "no dead job") {
		t.Errorf("%+v", got)
	}
}
