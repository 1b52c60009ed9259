package work_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

type welcome struct {
	UserID int64 `json:"user_id"`
	Extra  any   `json:"extra,omitempty"`
}

func (welcome) Kind() string { return "mail/welcome" }

type plain struct {
	N int64 `json:"n"`
}

func (*plain) Kind() string { return "plain" }

type sulky struct{ deep *welcome }

func (s sulky) Kind() string { return s.deep.Kind() + "!" + string(rune(s.deep.UserID)) }

type builtin string

func (b builtin) Kind() string                               { return string(b) }
func (b builtin) Run(_ context.Context, _ driven.Task) error { return errors.New("builtin") }

func nop[T work.Args](context.Context, work.Job[T]) error { return nil }

func wantCode(t *testing.T, err error, code domain.Code) {
	t.Helper()
	if domain.CodeOf(err) != code {
		t.Fatalf("code %q, want %q: %v", domain.CodeOf(err), code, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, r *work.Registry, kind, args string) error {
	t.Helper()
	e, ok := r.Find(kind)
	if !ok {
		t.Fatalf("kind %q is not there", kind)
	}
	return e.Run(t.Context(), &driven.Task{Kind: kind, Args: []byte(args), Attempt: 3, MaxAttempts: 7, Meta: []byte(`{"a":1}`)})
}

func TestHandlerSeesArgsExactly(t *testing.T) {
	r := work.NewRegistry()
	var got work.Job[welcome]
	must(t, work.Handle(r, func(_ context.Context, j work.Job[welcome]) error { got = j; return nil }))
	must(t, run(t, r, "mail/welcome", `{"user_id":3889108265204450030,"extra":{"n":[9007199254740993,1e400,0.1]}}`))
	if got.Args.UserID != 3889108265204450030 || got.Attempt != 3 || got.MaxAttempts != 7 || string(got.Meta) != `{"a":1}` {
		t.Fatalf("got %+v", got)
	}
	numbers := got.Args.Extra.(map[string]any)["n"].([]any)
	if want := []any{json.Number("9007199254740993"), json.Number("1e400"), json.Number("0.1")}; !slices.Equal(numbers, want) {
		t.Fatalf("numbers %v, want %v", numbers, want)
	}
}

func TestPointerArgs(t *testing.T) {
	r := work.NewRegistry()
	var got int64
	must(t, work.Handle(r, func(_ context.Context, j work.Job[*plain]) error { got = j.Args.N; return nil }))
	must(t, run(t, r, "plain", `{"n":-9223372036854775808}`))
	if got != math.MinInt64 {
		t.Fatalf("got %d", got)
	}
}

func TestUnreadableArgsNeverReachTheHandler(t *testing.T) {
	for _, args := range []string{
		`{"user_id":"secret-4711"}`, `{"user_id":1e400}`, `{"user_id":99999999999999999999}`, `{"user_id":`, ``, `[]`,
		`{} {}`, `{"user_id":1.5}`,
	} {
		r := work.NewRegistry()
		must(t, work.Handle(r, func(context.Context, work.Job[welcome]) error {
			t.Errorf("the handler ran with %q", args)
			return nil
		}))
		err := run(t, r, "mail/welcome", args)
		wantCode(t, err, domain.Invalid)
		for _, secret := range []string{"4711", "400", "9999"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows args: %v", err)
			}
		}
	}
}

func TestUnreadableArgsNameTheField(t *testing.T) {
	r := work.NewRegistry()
	must(t, work.Handle(r, nop[welcome]))
	err := run(t, r, "mail/welcome", `{"user_id":"x"}`)
	if want := "args.user_id: a JSON string does not fit the type int64"; !strings.Contains(err.Error(), want) {
		t.Fatalf("%q does not say %q", err, want)
	}
}

func TestRegistration(t *testing.T) {
	r := work.NewRegistry()
	must(t, r.AddBuiltin(builtin("mail/welcome")))
	must(t, r.AddBuiltin(builtin("http")))
	must(t, work.Handle(r, nop[welcome])) // beats the built-in
	must(t, r.AddBuiltin(builtin("zzz")))
	must(t, run(t, r, "mail/welcome", `{}`))
	if err := r.AddBuiltin(builtin("mail/welcome")); err != nil {
		t.Fatalf("a late built-in gives way silently, got %v", err)
	}
	must(t, run(t, r, "mail/welcome", `{}`))
	wantCode(t, r.AddBuiltin(builtin("http")), domain.Conflict)
	err := work.Handle(r, nop[welcome])
	wantCode(t, err, domain.Conflict)
	if !strings.Contains(err.Error(), "mail/welcome") {
		t.Fatalf("the refusal does not name the kind: %v", err)
	}
	if want := []string{"http", "mail/welcome", "zzz"}; !slices.Equal(r.Kinds(), want) {
		t.Fatalf("kinds %v, want %v", r.Kinds(), want)
	}
	r.Seal()
	wantCode(t, work.Handle(r, nop[*plain]), domain.Conflict)
	wantCode(t, r.Use(func(n work.Next) work.Next { return n }), domain.Conflict)
}

func TestRefusedRegistrations(t *testing.T) {
	r := work.NewRegistry()
	wantCode(t, work.Handle[welcome](r, nil), domain.Invalid)
	wantCode(t, work.Register[welcome](r, nil), domain.Invalid)
	wantCode(t, work.Handle(r, nop[sulky]), domain.Invalid)
	wantCode(t, r.AddBuiltin(nil), domain.Invalid)
	wantCode(t, r.AddBuiltin(builtin(strings.Repeat("k", domain.MaxKind+1))), domain.Invalid)
	for name, opt := range map[string]work.Option{
		"attempts 0": work.MaxAttempts(0), "attempts many": work.MaxAttempts(domain.MaxMaxAttempts + 1),
		"timeout 0": work.Timeout(0), "timeout long": work.Timeout(domain.MaxDelay + 1),
		"policy": work.Retry(domain.RetryPolicy{Base: -1}), "backoff nil": work.Backoff(nil),
		"keep": work.Keep(domain.Retention{Done: time.Nanosecond}),
	} {
		if err := work.Handle(r, nop[welcome], opt); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(r.Kinds()) != 0 {
		t.Fatalf("a refused registration left %v", r.Kinds())
	}
}

func TestRuleOver(t *testing.T) {
	def := domain.DefaultRetry()
	own := domain.RetryPolicy{Base: time.Minute, Factor: 1, Cap: time.Hour}
	for name, c := range map[string]struct {
		opts     []work.Option
		base     time.Duration
		attempts int
	}{
		"nothing":           {nil, def.Base, def.MaxAttempts},
		"attempts alone":    {[]work.Option{work.MaxAttempts(9)}, def.Base, 9},
		"policy alone":      {[]work.Option{work.Retry(own)}, own.Base, def.MaxAttempts},
		"attempts, policy":  {[]work.Option{work.MaxAttempts(9), work.Retry(own)}, own.Base, 9},
		"policy, attempts":  {[]work.Option{work.Retry(own), work.MaxAttempts(9)}, own.Base, 9},
		"policy with count": {[]work.Option{work.Retry(def)}, def.Base, def.MaxAttempts},
	} {
		r := work.NewRegistry()
		must(t, work.Handle(r, nop[welcome], c.opts...))
		e, _ := r.Find("mail/welcome")
		if got := e.RuleOver(def).Policy; got.Base != c.base || got.MaxAttempts != c.attempts {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestMiddlewareOrder(t *testing.T) {
	r := work.NewRegistry()
	var said []string
	say := func(name string) work.Middleware {
		return func(next work.Next) work.Next {
			return func(ctx context.Context, task *driven.Task) error {
				said = append(said, name)
				return next(ctx, task)
			}
		}
	}
	must(t, r.Use(say("a")))
	must(t, work.Handle(r, func(context.Context, work.Job[welcome]) error { said = append(said, "handler"); return nil }))
	given, _ := r.Find("mail/welcome")
	must(t, r.Use(say("b")))
	must(t, run(t, r, "mail/welcome", `{}`))
	if want := []string{"a", "b", "handler"}; !slices.Equal(said, want) {
		t.Fatalf("order %v, want %v", said, want)
	}
	said = nil
	must(t, given.Run(t.Context(), &driven.Task{Args: []byte(`{}`)}))
	if want := []string{"a", "handler"}; !slices.Equal(said, want) {
		t.Fatalf("an entry that was given out changed: %v", said)
	}
}

func TestSetResult(t *testing.T) {
	wantCode(t, work.SetResult(t.Context(), 1), domain.Invalid)
	var res work.Result
	ctx := work.WithResult(t.Context(), &res)
	must(t, work.SetResult(ctx, map[string]string{"html": "<b>"}))
	wantCode(t, work.SetResult(ctx, strings.Repeat("x", domain.MaxResult)), domain.Invalid)
	wantCode(t, work.SetResult(ctx, "a\x00b"), domain.Invalid)
	if got := string(res.JSON()); got != `{"html":"<b>"}` {
		t.Fatalf("result %s", got)
	}
}

func TestMarshalNamesThePath(t *testing.T) {
	type inner struct {
		Tags []string           `json:"tags"`
		F    map[string]float64 `json:"f"`
	}
	type loop struct{ Next []*loop }
	round := &loop{}
	round.Next = []*loop{round, round}
	for name, c := range map[string]struct {
		v    any
		path string
	}{
		"bad utf-8": {inner{Tags: []string{"ok", "a\xff"}}, "args.tags[1]"},
		"bad key":   {map[string]int{"k\xff": 1}, "args.k"},
		"nan":       {inner{F: map[string]float64{"x": math.NaN()}}, "args.f.x"},
		"inf":       {[]any{1, math.Inf(1)}, "args[1]"},
		"loop":      {round, "args"},
		"channel":   {make(chan int), "args"},
	} {
		_, err := work.Marshal("args", c.v)
		wantCode(t, err, domain.Invalid)
		if f := (*domain.Fault)(nil); !errors.As(err, &f) || !strings.HasPrefix(f.Subject, c.path) {
			t.Errorf("%s: %v does not name %s", name, err, c.path)
		}
	}
	text, err := work.Marshal("args", []any{"\ufffd <>&", json.RawMessage(`"\ufffd"`), int64(math.MaxInt64)})
	must(t, err)
	if want := "[\"\ufffd <>&\",\"\\ufffd\",9223372036854775807]"; string(text) != want {
		t.Fatalf("%s, want %s", text, want)
	}
}
