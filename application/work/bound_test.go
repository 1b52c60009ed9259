package work_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
)

func TestBoundsAreDeclared(t *testing.T) {
	r := work.NewRegistry()
	must(t, work.Handle(r, nop[welcome], work.Limited(work.Limit{N: 3}), work.Rated(work.Rate{N: 10, Window: time.Second, Group: "mail"}), work.Lane("mail")))
	must(t, work.Handle(r, nop[*plain]))
	must(t, r.AddBuiltin(builtin("b"), work.Rated(work.Rate{N: 10, Window: time.Second, Group: "mail"})))
	all, err := r.Bounds()
	must(t, err)
	want := []domain.Declaration{
		{Kind: "b", Sort: domain.BoundRate, Group: "mail", N: 10, Window: time.Second},
		{Kind: "mail/welcome", Sort: domain.BoundLimit, Group: "mail/welcome", N: 3},
		{Kind: "mail/welcome", Sort: domain.BoundRate, Group: "mail", N: 10, Window: time.Second},
	}
	if fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("declared %v, want %v", all, want)
	}
	if e, _ := r.Find("mail/welcome"); e.Lane != "mail" {
		t.Errorf("the lane is %q", e.Lane)
	}
}

func TestBoundsAreRefused(t *testing.T) {
	for name, opt := range map[string]work.Option{
		"no N":         work.Limited(work.Limit{}),
		"a negative N": work.Limited(work.Limit{N: -1}),
		"two limits": func(e *work.Entry) error {
			return errors.Join(work.Limited(work.Limit{N: 1, Group: "g"})(e), work.Limited(work.Limit{N: 50, Group: "h"})(e))
		},
		"two rates": func(e *work.Entry) error {
			return errors.Join(work.Rated(work.Rate{N: 1, Window: time.Second})(e), work.Rated(work.Rate{N: 2, Window: time.Minute})(e))
		},
		"too many":          work.Limited(work.Limit{N: domain.MaxSlots + 1}),
		"no window":         work.Rated(work.Rate{N: 1}),
		"a long group":      work.Limited(work.Limit{N: 1, Group: strings.Repeat("g", domain.MaxGroup+1)}),
		"a colon":           work.Rated(work.Rate{N: 1, Window: time.Second, Group: "a:b"}),
		"a lane of no name": work.Lane(""),
	} {
		t.Run(name, func(t *testing.T) {
			r := work.NewRegistry()
			wantCode(t, work.Handle(r, nop[welcome], opt), domain.Invalid)
			if len(r.Kinds()) > 0 {
				t.Error("the kind was registered")
			}
		})
	}
}

func TestAGroupMustAgree(t *testing.T) {
	limit := func(n int) work.Option { return work.Limited(work.Limit{N: n, Group: "g"}) }
	rate := func(n int, w time.Duration) work.Option {
		return work.Rated(work.Rate{N: n, Window: w, Group: "g"})
	}
	for name, c := range map[string]struct {
		a, b work.Option
		bad  bool
	}{
		"limits that agree":  {limit(1), limit(1), false},
		"limits that do not": {limit(1), limit(2), true},
		"rates that agree":   {rate(1, time.Second), rate(1, time.Second), false},
		"rates of two N":     {rate(1, time.Second), rate(2, time.Second), true},
		"rates of two spans": {rate(1, time.Second), rate(1, time.Minute), true},
		"a limit and a rate": {limit(1), rate(2, time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := work.NewRegistry()
			must(t, r.AddBuiltin(builtin("one"), c.a))
			must(t, r.AddBuiltin(builtin("two"), c.b))
			_, err := r.Bounds()
			if !c.bad {
				must(t, err)
				return
			}
			wantCode(t, err, domain.Invalid)
			for _, word := range []string{`"one"`, `"two"`, `"g"`} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not name %s", err, word)
				}
			}
		})
	}
}

func TestKeyOfTypedArgs(t *testing.T) {
	key := work.KeyOf(func(w welcome) string { return fmt.Sprint("user ", w.UserID) })
	pointer := work.KeyOf(func(p *plain) string { return fmt.Sprint(p.N) })
	for args, want := range map[string]string{
		`{"user_id":9007199254740993}`: "user 9007199254740993",
		`{}`:                           "user 0",
		`{"user_id":"x"}`:              "",
		`nonsense`:                     "",
	} {
		if got := key([]byte(args)); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if got := pointer([]byte(`{"n":7}`)); got != "7" {
		t.Errorf("of a pointer: %q", got)
	}
}
