package enqueue_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// fake is store, transaction binder, ids, clock, notifier and observer in one.
type fake struct {
	mu     sync.Mutex
	rows   []domain.NewJob
	calls  int
	exists map[string]domain.JobID // by unique key
	err    error
	made   byte
	woken  []string
	wokenA []time.Duration // since start
	start  time.Time
	events []domain.Event
}

func (f *fake) Insert(_ context.Context, rows []domain.NewJob) ([]driven.Inserted, error) {
	f.calls++
	if f.err != nil {
		return nil, f.err
	}
	done := make([]driven.Inserted, len(rows))
	for i, row := range rows {
		done[i] = driven.Inserted{ID: row.ID}
		if row.Unique != nil {
			if holder, ok := f.exists[row.Unique.Key]; ok {
				done[i] = driven.Inserted{ID: holder, Result: domain.Existing}
				continue
			}
		}
		f.rows = append(f.rows, row)
	}
	return done, nil
}

func (f *fake) Bind(tx driven.HostTx) (driven.Inserter, error) {
	if tx.HostTx() != "fake" {
		return nil, &domain.Fault{Code: domain.Invalid, Op: "bind", Hint: "foreign"}
	}
	return f, nil
}

func (f *fake) NewJobID() domain.JobID {
	f.made++
	return domain.JobID{0: 1, 6: 0x70, 8: 0x80, 15: f.made}
}
func (f *fake) NewToken() domain.Token { return domain.Token{1} }
func (f *fake) NewRunnerID() string    { return "r" }
func (f *fake) Now() time.Time         { return time.Now() }

func (f *fake) Notify(queues ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range queues {
		f.woken = append(f.woken, q)
		f.wokenA = append(f.wokenA, time.Since(f.start))
	}
}
func (f *fake) Listen(ctx context.Context, _ func(string)) error { <-ctx.Done(); return ctx.Err() }
func (f *fake) Observe(e domain.Event)                           { f.events = append(f.events, e) }

type tx string

func (t tx) HostTx() string { return string(t) }

type listTx []int // cannot be compared

func (listTx) HostTx() string { return "fake" }

func client(f *fake, r *work.Registry) *enqueue.Client {
	return enqueue.New(enqueue.Config{Store: f, Tx: f, IDs: f, Clock: f, Observer: f, Wake: f, Registry: r})
}

type hello struct {
	Name string  `json:"name"`
	F    float64 `json:"f,omitempty"`
}

func (hello) Kind() string { return "hello" }

type choosy struct{ N int64 }

func (choosy) Kind() string { return "choosy" }
func (choosy) EnqueueOptions() []enqueue.Option {
	return []enqueue.Option{
		enqueue.Queue("slow"), enqueue.MaxAttempts(3), enqueue.After(time.Minute), enqueue.Timeout(time.Second),
		enqueue.Tags("a"), enqueue.Keep(domain.Retention{Done: time.Hour, Dead: time.Hour}),
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code domain.Code) {
	t.Helper()
	if domain.CodeOf(err) != code {
		t.Fatalf("code %q, want %q: %v", domain.CodeOf(err), code, err)
	}
}

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
		{Args: hello{}}, {Args: hello{}, Options: []enqueue.Option{enqueue.Unique("held")}},
		{Args: hello{}, Options: []enqueue.Option{enqueue.Queue("b")}}, {Args: hello{}},
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

func TestOneTransactionForAll(t *testing.T) {
	in := func(tx driven.HostTx) enqueue.Item {
		return enqueue.Item{Args: hello{}, Options: []enqueue.Option{enqueue.In(tx)}}
	}
	for name, items := range map[string][]enqueue.Item{
		"some": {in(tx("fake")), {Args: hello{}}}, "two": {in(tx("fake")), in(tx("b"))}, "uncomparable": {in(listTx{}), in(listTx{})},
	} {
		f := &fake{}
		_, err := client(f, nil).EnqueueMany(t.Context(), items)
		if domain.CodeOf(err) != domain.Invalid || f.calls != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := &fake{}
	_, err := client(f, nil).EnqueueMany(t.Context(), []enqueue.Item{in(tx("fake")), in(tx("fake"))})
	must(t, err)
	none := enqueue.New(enqueue.Config{Store: f, IDs: f})
	_, _, err = none.Enqueue(t.Context(), hello{}, enqueue.In(tx("fake")))
	wantCode(t, err, domain.Unsupported)
}

func TestHostTransactionIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{start: time.Now()}
		c := client(f, nil)
		put := func() {
			t.Helper()
			_, _, err := c.Enqueue(t.Context(), hello{}, enqueue.In(tx("fake")))
			must(t, err)
		}
		want := func(marks ...time.Duration) {
			t.Helper()
			f.mu.Lock()
			defer f.mu.Unlock()
			if fmt.Sprint(f.wokenA) != fmt.Sprint(marks) {
				t.Fatalf("woken at %v, want %v", f.wokenA, marks)
			}
			f.wokenA = nil
		}
		ms := time.Millisecond
		put()
		time.Sleep(2 * time.Second)
		want(20*ms, 50*ms, 100*ms, 200*ms, 500*ms)
		// A write in the middle begins the series anew, and it stays one series.
		f.start = time.Now()
		put()
		time.Sleep(300 * ms)
		put()
		put()
		time.Sleep(2 * time.Second)
		want(20*ms, 50*ms, 100*ms, 200*ms, 320*ms, 350*ms, 400*ms, 500*ms, 800*ms)
		// A stream of writes does not put the first probe off.
		f.start = time.Now()
		for range 10 {
			put()
			time.Sleep(5 * ms)
		}
		f.mu.Lock()
		seen := len(f.wokenA)
		f.mu.Unlock()
		if seen < 2 {
			t.Fatalf("%d probes in 50 ms of writes", seen)
		}
		if len(f.events) != 0 {
			t.Fatalf("events of uncommitted jobs: %v", f.events)
		}
		time.Sleep(2 * time.Second)
	})
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

func TestInline(t *testing.T) {
	f, r := &fake{}, work.NewRegistry()
	boom := errors.New("boom")
	var got work.Job[hello]
	var tenant string
	must(t, work.Handle(r, func(ctx context.Context, j work.Job[hello]) error {
		got, tenant = j, domain.TenantOf(ctx)
		if j.Args.Name == "slow" {
			<-ctx.Done()
			return nil
		}
		if err := work.SetResult(ctx, 1); err != nil {
			return err
		}
		return boom
	}, work.MaxAttempts(7)))
	c := client(f, r)
	if err := c.Inline(t.Context(), hello{Name: "x"}, enqueue.Tenant("acme"), enqueue.Queue("q")); err != boom {
		t.Fatalf("got %v", err)
	}
	if !got.Inline || got.Attempt != 1 || got.MaxAttempts != 7 || got.Args.Name != "x" || got.Queue != "q" || tenant != "acme" || f.calls != 0 {
		t.Fatalf("job %+v, tenant %q, %d writes", got, tenant, f.calls)
	}
	if err := c.Inline(t.Context(), hello{Name: "slow"}, enqueue.Timeout(time.Millisecond)); !errors.Is(err, work.ErrTimeout) {
		t.Fatalf("nil after the timeout is %v", err)
	}
	wantCode(t, c.Inline(t.Context(), choosy{}), domain.Invalid)
	wantCode(t, client(f, nil).Inline(t.Context(), hello{}), domain.Unsupported)
}

var _ driving.Enqueuer = (*enqueue.Client)(nil)

// sink takes rows and keeps none.
type sink struct {
	fake
	answer []driven.Inserted
}

func (s *sink) Insert(_ context.Context, rows []domain.NewJob) ([]driven.Inserted, error) {
	return s.answer[:len(rows)], nil
}

func BenchmarkEnqueueMany(b *testing.B) {
	s := &sink{answer: make([]driven.Inserted, 1000)}
	c := enqueue.New(enqueue.Config{Store: s, IDs: s, Clock: s})
	items := make([]enqueue.Item, 1000)
	for i := range items {
		items[i].Args = hello{Name: "somebody at some place in the world, with a longer text to carry", F: 1.5}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.EnqueueMany(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/job")
}
