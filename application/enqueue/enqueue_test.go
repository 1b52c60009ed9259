package enqueue_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func TestEnqueueWritesWhatWasAsked(t *testing.T) {
	f := &fake{}
	job, res, err := client(f, nil).Enqueue(t.Context(), hello{Name: "<b>&"},
		enqueue.Queue("mail"), enqueue.Priority(-5), enqueue.After(time.Hour), enqueue.MaxAttempts(8),
		enqueue.Timeout(time.Minute), enqueue.Unique("k"), enqueue.OnConflict(domain.Error), enqueue.Tenant("acme"),
		enqueue.Tags("x", "y"), enqueue.Meta(map[string]int{"n": 1}), enqueue.ForgetArgs(),
		enqueue.Keep(domain.Retention{Done: time.Hour}))
	must(t, err)
	row := f.rows[0]
	if job.ID != row.ID || job.Kind != "hello" || job.Queue != "mail" || res != domain.InsertedNew {
		t.Fatalf("answer %+v %v", job, res)
	}
	if string(row.Args) != `{"name":"<b>&"}` || string(row.Meta) != `{"n":1}` {
		t.Fatalf("args %s meta %s", row.Args, row.Meta)
	}
	if row.Priority != -5 || row.Due.After != time.Hour || row.MaxAttempts != 8 || row.Timeout != time.Minute ||
		*row.Unique != (domain.Unique{Key: "k", OnConflict: domain.Error}) || row.Tenant != "acme" ||
		len(row.Tags) != 2 || !row.ForgetArgs || row.Keep.Done != time.Hour {
		t.Fatalf("row %+v", row)
	}
	if len(f.woken) != 0 {
		t.Fatalf("a job due in an hour woke %v", f.woken)
	}
	if len(f.events) != 1 || f.events[0].Type != domain.EventEnqueued || f.events[0].Job != job.ID || f.events[0].Delay != time.Hour {
		t.Fatalf("events %+v", f.events)
	}
}

func TestPrecedence(t *testing.T) {
	f, r := &fake{}, work.NewRegistry()
	must(t, work.Handle(r, func(context.Context, work.Job[choosy]) error { return nil },
		work.MaxAttempts(9), work.Keep(domain.Retention{Done: time.Minute})))
	moment := time.Now().Add(time.Hour)
	for _, c := range []*enqueue.Client{client(f, nil), client(f, r)} {
		_, _, err := c.Enqueue(t.Context(), choosy{}, enqueue.At(moment), enqueue.Tags("b"))
		must(t, err)
	}
	_, _, err := client(f, r).Enqueue(t.Context(), choosy{}, enqueue.MaxAttempts(2))
	must(t, err)
	alone, known, named := f.rows[0], f.rows[1], f.rows[2]
	if alone.Queue != "slow" || alone.MaxAttempts != 3 || alone.Due.After != 0 || !alone.Due.At.Equal(moment) || strings.Join(alone.Tags, "") != "ab" {
		t.Errorf("without a registry: %+v", alone)
	}
	if known.MaxAttempts != 0 || known.Timeout != time.Second || known.Keep != (domain.Retention{Done: time.Minute, Dead: time.Hour}) {
		t.Errorf("the registration beats the args type: %+v", known)
	}
	if named.MaxAttempts != 2 || named.Due.After != time.Minute {
		t.Errorf("the job beats all: %+v", named)
	}
}

func TestRefusals(t *testing.T) {
	acme := domain.WithTenant(t.Context(), "acme")
	for name, c := range map[string]struct {
		ctx  context.Context
		args work.Args
		opts []enqueue.Option
		say  string
	}{
		"after and at":      {t.Context(), hello{}, []enqueue.Option{enqueue.After(0), enqueue.At(time.Now())}, "not both"},
		"negative delay":    {t.Context(), hello{}, []enqueue.Option{enqueue.After(-1)}, "delay"},
		"zero moment":       {t.Context(), hello{}, []enqueue.Option{enqueue.At(time.Time{})}, "zero"},
		"attempts":          {t.Context(), hello{}, []enqueue.Option{enqueue.MaxAttempts(0)}, "1 or more"},
		"timeout":           {t.Context(), hello{}, []enqueue.Option{enqueue.Timeout(0)}, "positive"},
		"queue":             {t.Context(), hello{}, []enqueue.Option{enqueue.Queue("")}, "empty"},
		"unique":            {t.Context(), hello{}, []enqueue.Option{enqueue.Unique("")}, "empty"},
		"conflict alone":    {t.Context(), hello{}, []enqueue.Option{enqueue.OnConflict(domain.Error)}, "Unique"},
		"id":                {t.Context(), hello{}, []enqueue.Option{enqueue.ID(domain.JobID{})}, "UUIDv7"},
		"meta":              {t.Context(), hello{}, []enqueue.Option{enqueue.Meta(1)}, "object"},
		"nil args":          {t.Context(), nil, nil, "nil"},
		"nil transaction":   {t.Context(), hello{}, []enqueue.Option{enqueue.In(nil)}, "nil"},
		"NUL":               {t.Context(), hello{Name: "a\x00"}, nil, "args.name"},
		"bad UTF-8":         {t.Context(), hello{Name: "a\xff"}, nil, "args.name"},
		"NaN":               {t.Context(), hello{F: math.NaN()}, nil, "args.f"},
		"size":              {t.Context(), hello{Name: strings.Repeat("x", domain.MaxArgs)}, nil, "limit"},
		"tenant":            {acme, hello{}, []enqueue.Option{enqueue.Tenant("other")}, "tenant_cross_write"},
		"foreign handle":    {t.Context(), hello{}, []enqueue.Option{enqueue.In(tx("other"))}, "foreign"},
		"wrong option wins": {t.Context(), hello{}, []enqueue.Option{enqueue.MaxAttempts(0), enqueue.Queue("")}, "1 or more"},
	} {
		f := &fake{}
		_, _, err := client(f, nil).Enqueue(c.ctx, c.args, c.opts...)
		if domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v does not say %q", name, err, c.say)
		}
		if len(f.rows)+len(f.events)+len(f.woken) != 0 {
			t.Errorf("%s: something was written or told", name)
		}
	}
}

func TestTenantIsInherited(t *testing.T) {
	f := &fake{}
	acme := domain.WithTenant(t.Context(), "acme")
	for _, opts := range [][]enqueue.Option{nil, {enqueue.Tenant("acme")}, {enqueue.Tenant("")}} {
		_, _, err := client(f, nil).Enqueue(acme, hello{}, opts...)
		must(t, err)
	}
	_, err := client(f, nil).Add(acme, []domain.NewJob{{Kind: "hello", Args: []byte(`{}`)}})
	must(t, err)
	var got []string
	for _, row := range f.rows {
		got = append(got, row.Tenant)
	}
	if want := "acme,acme,,acme"; strings.Join(got, ",") != want {
		t.Fatalf("tenants %q, want %q", got, want)
	}
	_, err = client(f, nil).Add(acme, []domain.NewJob{{Kind: "hello", Tenant: "other", Args: []byte(`{}`)}})
	wantCode(t, err, domain.Invalid)
}

func TestEnqueueMany(t *testing.T) {
	f := &fake{exists: map[string]domain.JobID{"held": {9}}}
	c := client(f, nil)
	got, err := c.EnqueueMany(t.Context(), []enqueue.Item{
		{Args: hello{}},
		{Args: hello{}, Options: []enqueue.Option{enqueue.Unique("held")}},
		{Args: hello{}, Options: []enqueue.Option{enqueue.Queue("b")}},
		{Args: hello{}},
	})
	must(t, err)
	if f.calls != 1 || len(got) != 4 || got[1].Result != domain.Existing || got[1].Job.ID != (domain.JobID{9}) || got[2].Job.Queue != "b" {
		t.Fatalf("%d calls, receipts %+v", f.calls, got)
	}
	if strings.Join(f.woken, ",") != "default,b" || len(f.events) != 3 {
		t.Fatalf("woken %v, %d events", f.woken, len(f.events))
	}
	_, err = c.EnqueueMany(t.Context(), []enqueue.Item{{Args: hello{}}, {Args: hello{Name: "\x00"}}})
	wantCode(t, err, domain.Invalid)
	if !strings.Contains(err.Error(), "jobs[1]: args.name") || f.calls != 1 {
		t.Fatalf("%v; %d calls", err, f.calls)
	}
	if got, err := c.EnqueueMany(t.Context(), nil); err != nil || len(got) != 0 || f.calls != 1 {
		t.Fatalf("nothing to do: %v %v", got, err)
	}
}

func TestUnknownKindIsRefused(t *testing.T) {
	f, r := &fake{}, work.NewRegistry()
	c := client(f, r)
	_, _, err := c.Enqueue(t.Context(), hello{}) // a registry without kinds knows nothing
	must(t, err)
	for i := range 25 {
		must(t, r.AddBuiltin(kind(fmt.Sprintf("k%02d", i))))
	}
	_, _, err = c.Enqueue(t.Context(), hello{})
	wantCode(t, err, domain.Invalid)
	if !strings.Contains(err.Error(), "k00, k01") || !strings.Contains(err.Error(), "k19 and 5 more") {
		t.Fatalf("the known kinds are not listed within bounds: %v", err)
	}
	wantCode(t, c.Check(t.Context(), domain.NewJob{Kind: "hello", Args: []byte(`1`)}), domain.Invalid)
	must(t, c.Check(t.Context(), domain.NewJob{Kind: "k00", Args: []byte(`1`)}))
}

type kind string

func (k kind) Kind() string                           { return string(k) }
func (k kind) Run(context.Context, driven.Task) error { return nil }

func TestAddKeepsBytes(t *testing.T) {
	f := &fake{}
	c := client(f, nil)
	args := "{ \"n\" : 9007199254740993, \"s\": \"a\\' \\\\; ? ?0 $1 :x @p1 --\" }"
	args = strings.ReplaceAll(args, `\'`, `'`)
	mine := []domain.NewJob{{Kind: "k", Args: []byte(args)}, {Kind: "k", Queue: "q", Args: []byte(`1e400`)}}
	got, err := c.Add(t.Context(), mine)
	must(t, err)
	if string(f.rows[0].Args) != args || string(f.rows[1].Args) != "1e400" || f.rows[0].Queue != "default" || f.rows[1].Queue != "q" {
		t.Fatalf("rows %+v", f.rows)
	}
	if got[0].ID != f.rows[0].ID || !mine[0].ID.IsZero() || mine[0].Queue != "" {
		t.Fatal("the answer is wrong, or the caller's slice was changed")
	}
	_, err = c.Add(t.Context(), []domain.NewJob{mine[0], {Kind: "k", Args: []byte(`{"a":[1,"\ud800"]}`)}})
	wantCode(t, err, domain.Invalid)
	if !strings.Contains(err.Error(), "jobs[1]: args.a[1]") {
		t.Fatal(err)
	}
}

func TestStoreFaultsPassAndNothingIsTold(t *testing.T) {
	down := &domain.Fault{Code: domain.Unavailable, Op: "insert"}
	f := &fake{err: down}
	_, _, err := client(f, nil).Enqueue(t.Context(), hello{})
	if !errors.Is(err, down) || len(f.events)+len(f.woken) != 0 {
		t.Fatalf("%v, events %v", err, f.events)
	}
}

// angry panics at every event.
type angry struct{}

func (angry) Observe(domain.Event) { panic("observer") }

func TestAnObserverThatPanicsFailsNoEnqueue(t *testing.T) {
	f := &fake{}
	c := enqueue.New(enqueue.Config{Store: f, IDs: f, Clock: f, Wake: f, Observer: angry{}})
	if _, _, err := c.Enqueue(t.Context(), hello{}); err != nil || len(f.rows) != 1 || len(f.woken) != 1 {
		t.Fatalf("%v, %d rows, woken %v", err, len(f.rows), f.woken)
	}
}
