package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/inspect"
	"github.com/rowlock/rowlock/application/operate"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// RunLifecycle drives the real services over a store: enqueue, work, crash,
// recover, retry, dead, retry by hand. open is as for Run. The clock and ids are
// those of the host, e.g. of adapters/driven/system.
func RunLifecycle[O Opened](t *testing.T, open func(testing.TB) O, clock driven.Clock, ids driven.IDs) {
	t.Helper()
	for _, k := range lifecycleCases() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			k.run(newLife(newCase(t, asHarness(open(t))), clock, ids))
		})
	}
}

type lifeCase struct {
	name string
	run  func(*life)
}

func lifecycleCases() []lifeCase {
	return []lifeCase{
		{"work", lifeWork},
		{"args", lifeArgsExact},
		{"retry", lifeRetry},
		{"delayed", lifeDelayed},
		{"dead", lifeDead},
		{"outcomes", lifeOutcomes},
		{"panic", lifePanic},
		{"crash", lifeCrash},
		{"poison", lifePoison},
		{"unknown", lifeUnknown},
		{"unique", lifeUnique},
		{"tenant", lifeTenant},
		{"host", lifeHost},
		{"fleet", lifeFleet},
		{"prune", lifePrune},
	}
}

// memo is the args type of the lifecycle's jobs.
type memo struct {
	N    int         `json:"n"`
	Text string      `json:"text,omitempty"`
	Big  json.Number `json:"big,omitempty"`
}

// Kind names the kind of a memo.
func (memo) Kind() string { return "life/memo" }

// handler is what a case does with a memo.
type handler = func(context.Context, work.Job[memo]) error

// life is a case with the services over its store.
type life struct {
	*rig
	clock    driven.Clock
	ids      driven.IDs
	client   *enqueue.Client
	operator *operate.Service
	seen     *inspect.Service
}

func newLife(c *rig, clock driven.Clock, ids driven.IDs) *life {
	return &life{
		rig: c, clock: clock, ids: ids,
		client:   enqueue.New(enqueue.Config{Store: c.store, Tx: c.Backend.Tx, IDs: ids, Clock: clock}),
		operator: operate.New(operate.Deps{Store: c.store}),
		seen:     inspect.New(inspect.Deps{Finder: c.store, Runners: c.store}),
	}
}

// put enqueues one memo.
func (l *life) put(m memo, opts ...enqueue.Option) domain.JobID {
	l.Helper()
	job, result, err := l.client.Enqueue(l.Context(), m, opts...)
	l.ok("enqueue", err)
	equal(l.rig, "answer of the enqueue", result, domain.InsertedNew)
	return job.ID
}

// runner makes a runner over a store that runs the handler.
func (l *life) runner(store driven.Store, h handler, opts ...work.Option) *runner.Runner {
	l.Helper()
	return l.leased(l.lease(), store, h, opts...)
}

// leased is a runner with a lease of its own: a short one shows crashes, a long
// one is not lost to a machine that is busy elsewhere.
func (l *life) leased(lease time.Duration, store driven.Store, h handler, opts ...work.Option) *runner.Runner {
	l.Helper()
	registry := work.NewRegistry()
	l.ok("handle", work.Handle(registry, h, opts...))
	r, err := runner.New(runner.Config{Concurrency: 4, Lease: lease, Poll: 10 * time.Millisecond}, runner.Deps{
		Store: store, Registry: registry, IDs: l.ids, Clock: l.clock,
	})
	l.ok("new runner", err)
	l.Cleanup(func() { l.end(r) })
	return r
}

// end stops a runner within a second, whatever became of the case.
func (l *life) end(r *runner.Runner) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.Context()), time.Second)
	defer cancel()
	if err := r.Stop(ctx); err != nil {
		l.Logf("stop: %v", err)
	}
}

// lease is the lease of the lifecycle's runners, in real time too.
func (l *life) lease() time.Duration { return 600 * time.Millisecond }

// drain runs all that is due in a runner of its own and gives what became of it.
func (l *life) drain(h handler, opts ...work.Option) driving.Drained {
	l.Helper()
	r := l.leased(patience, l.store, h, opts...)
	got, err := r.Drain(l.Context(), driving.DrainOptions{Limit: patience})
	l.ok("drain", err)
	l.stop(r)
	return got
}

func (l *life) stop(r *runner.Runner) {
	l.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.Context()), patience)
	defer cancel()
	l.ok("stop", r.Stop(ctx))
}

// sweeper is the upkeep of another process, with quick stalls.
func (l *life) sweeper() *upkeep.Service {
	l.Helper()
	s, err := upkeep.New(upkeep.Config{Stalls: domain.StallPolicy{Base: time.Millisecond, Cap: time.Millisecond, Max: 2}}, upkeep.Deps{Store: l.store})
	l.ok("new upkeep", err)
	return s
}

func (l *life) sweep() int {
	l.Helper()
	n, err := l.sweeper().Sweep(l.Context())
	l.ok("sweep", err)
	return n
}

// soon lets short waits of jobs be over.
func (l *life) soon() { l.pass(10 * time.Millisecond) }

// quick is a retry policy whose waits a case can let pass.
func quick(attempts int) work.Option {
	return work.Retry(domain.RetryPolicy{Base: time.Millisecond, Factor: 1, Cap: time.Millisecond, MaxAttempts: attempts})
}

var errFailed = errors.New("the handler failed")

// work: jobs enqueued one by one and many at once all run once; what is not due waits.
func lifeWork(l *life) {
	var items []enqueue.Item
	for i := range 40 {
		items = append(items, enqueue.Item{Args: memo{N: i}, Options: []enqueue.Option{enqueue.Tags("life")}})
	}
	receipts, err := l.client.EnqueueMany(l.Context(), items)
	l.ok("enqueue many", err)
	equal(l.rig, "receipts", len(receipts), 40)
	l.put(memo{N: 40}, enqueue.Priority(-1))
	l.put(memo{N: 41}, enqueue.After(time.Hour))
	var runs [42]atomic.Int64
	got := l.drain(func(ctx context.Context, j work.Job[memo]) error {
		runs[j.Args.N].Add(1)
		return work.SetResult(ctx, j.Args.N)
	})
	equal(l.rig, "completed jobs", got, driving.Drained{Completed: 41})
	for n := range 41 {
		equal(l.rig, fmt.Sprintf("runs of job %d", n), runs[n].Load(), 1)
	}
	equal(l.rig, "result", string(l.get(receipts[7].Job.ID).Result), "7")
	equal(l.rig, "runs of the delayed job", runs[41].Load(), 0)
}

// args: what was enqueued is what the handler gets, to the last digit.
func lifeArgsExact(l *life) {
	want := map[int]memo{}
	for i, text := range oddTexts {
		want[i] = memo{N: i, Text: text, Big: "9007199254740993"}
		l.put(want[i])
	}
	n := len(oddTexts)
	want[n] = memo{N: n, Text: strings.Repeat("é", domain.MaxArgs/2-100), Big: "1e400"}
	l.put(want[n])
	var mu sync.Mutex
	got := map[int]memo{}
	l.drain(func(_ context.Context, j work.Job[memo]) error {
		mu.Lock()
		defer mu.Unlock()
		got[j.Args.N] = j.Args
		return nil
	})
	equal(l.rig, "number of runs", len(got), len(want))
	for i := range want {
		equal(l.rig, "args", got[i], want[i])
	}
	_, _, err := l.client.Enqueue(l.Context(), memo{Text: strings.Repeat("x", domain.MaxArgs)})
	l.wantCode("enqueue of args over the limit", err, domain.Invalid)
	_, _, err = l.client.Enqueue(l.Context(), memo{Text: "a\x00b"})
	l.wantCode("enqueue of args with NUL", err, domain.Invalid)
}

// retry: a failing job is tried again after its wait and ends done, its history kept.
func lifeRetry(l *life) {
	id := l.put(memo{})
	attempts := []int{}
	fail := func(_ context.Context, j work.Job[memo]) error {
		attempts = append(attempts, j.Attempt)
		if j.Attempt < 3 {
			return fmt.Errorf("attempt %d: %w", j.Attempt, errFailed)
		}
		return nil
	}
	l.again(5, fail, quick(5))
	equal(l.rig, "attempts as the handler saw them", attempts, []int{1, 2, 3})
	row := l.inState(id, domain.Done)
	equal(l.rig, "attempts and last error", fmt.Sprintf("%d %q", row.Attempts, row.Error), `3 ""`)
	notes, err := row.History.Notes()
	l.ok("read the history", err)
	equal(l.rig, "messages", []string{notes[0].Message, notes[1].Message}, []string{"attempt 1: " + errFailed.Error(), "attempt 2: " + errFailed.Error()})
}

// again drains several times, with the waits of failed jobs in between.
func (l *life) again(times int, h handler, opts ...work.Option) {
	l.Helper()
	for range times {
		l.drain(h, opts...)
		l.soon()
	}
}

// dead: out of attempts the job is dead; retried by hand it lives its life anew.
func lifeDead(l *life) {
	id := l.put(memo{}, enqueue.Unique("k"))
	l.again(4, func(context.Context, work.Job[memo]) error { return errFailed }, quick(2))
	row := l.inState(id, domain.Dead)
	equal(l.rig, "attempts and last error", fmt.Sprintf("%d %s", row.Attempts, row.Error), "2 "+errFailed.Error())
	edited, err := l.operator.Retry(l.Context(), []domain.JobID{id}, domain.Due{})
	l.wantNil("retry by hand", l.edit("retry", edited, err, id)...)
	got := l.drain(func(context.Context, work.Job[memo]) error { return nil }, quick(2))
	equal(l.rig, "completed jobs", got.Completed, 1)
	row = l.inState(id, domain.Done)
	equal(l.rig, "attempts", row.Attempts, 1)
	notes, err := row.History.Notes()
	l.ok("read the history", err)
	equal(l.rig, "number of notes", len(notes), 2)
}

// outcomes: bury, cancel, snooze and retry-after do what they say.
func lifeOutcomes(l *life) {
	answers := []error{work.Bury(errFailed), work.Cancel(errFailed), work.Snooze(time.Hour), work.RetryAfter(time.Hour, errFailed), nil}
	ids := make([]domain.JobID, len(answers))
	for i := range answers {
		ids[i] = l.put(memo{N: i})
	}
	got := l.drain(func(_ context.Context, j work.Job[memo]) error { return answers[j.Args.N] })
	equal(l.rig, "what was drained", got, driving.Drained{Completed: 1, Retried: 1, Snoozed: 1, Dead: 1, Cancelled: 1})
	states := []domain.State{domain.Dead, domain.Cancelled, domain.Scheduled, domain.Scheduled, domain.Done}
	for i, want := range states {
		l.inState(ids[i], want)
	}
	snoozed := l.get(ids[2])
	equal(l.rig, "attempts and snoozes of the snoozed", [2]int{snoozed.Attempts, snoozed.Snoozes}, [2]int{0, 1})
}

// panic: a handler that panics fails its attempt, with the stack in the history.
func lifePanic(l *life) {
	id := l.put(memo{})
	l.drain(func(context.Context, work.Job[memo]) error { panic("boom") }, quick(1))
	row := l.inState(id, domain.Dead)
	notes, err := row.History.Notes()
	l.ok("read the history", err)
	if !strings.Contains(row.Error, "boom") || notes[0].Stack == "" {
		l.Fatalf("the panic is not told: error %q, stack %q", row.Error, notes[0].Stack)
	}
}

// doomed is the store of a process that dies: once dead, nothing reaches it.
type doomed struct {
	driven.Store
	dead atomic.Bool
}

func (d *doomed) died() error {
	if d.dead.Load() {
		return &domain.Fault{Code: domain.Unavailable, Op: "call", Hint: "this process is dead"}
	}
	return nil
}

// Claim fails once the process is dead.
func (d *doomed) Claim(ctx context.Context, r driven.ClaimRequest) (driven.Claims, error) {
	if err := d.died(); err != nil {
		return driven.Claims{}, err
	}
	return d.Store.Claim(ctx, r)
}

// Settle fails once the process is dead.
func (d *doomed) Settle(ctx context.Context, o []driven.Outcome) (driven.Settled, error) {
	if err := d.died(); err != nil {
		return driven.Settled{}, err
	}
	return d.Store.Settle(ctx, o)
}

// Renew fails once the process is dead.
func (d *doomed) Renew(ctx context.Context, r driven.RenewRequest) (driven.Renewed, error) {
	if err := d.died(); err != nil {
		return driven.Renewed{}, err
	}
	return d.Store.Renew(ctx, r)
}

// crash: the jobs of a process that dies are put back once their leases ran out,
// as stalls and not as attempts, and another does them. When the dead one comes
// back to life in the middle of that, its late outcome changes nothing.
func lifeCrash(l *life) {
	store := &doomed{Store: l.store}
	taken := make(chan struct{}, 3)
	asleep, wake := l.gate()
	victim := l.runner(store, func(context.Context, work.Job[memo]) error {
		taken <- struct{}{}
		<-asleep // it heeds nothing, as a stopped process does
		return errors.New("a late failure")
	})
	ids := []domain.JobID{l.put(memo{}), l.put(memo{}), l.put(memo{})}
	l.ok("start", victim.Start(l.Context()))
	for range ids {
		<-taken
	}
	store.dead.Store(true)
	equal(l.rig, "claims put back while the leases live", l.liveSweep(), 0)
	l.pass(l.lease() + time.Millisecond)
	equal(l.rig, "claims put back", l.sweep(), len(ids))
	for _, id := range ids {
		row := l.inState(id, domain.Scheduled)
		equal(l.rig, "attempts and stalls", [2]int{row.Attempts, row.Stalls}, [2]int{0, 1})
	}
	l.soon()

	busy, finish := l.gate()
	heir := l.leased(patience, l.store, func(context.Context, work.Job[memo]) error {
		taken <- struct{}{}
		<-busy
		return nil
	})
	l.ok("start", heir.Start(l.Context()))
	for range ids {
		<-taken
	}
	store.dead.Store(false)
	wake()
	l.stop(victim)
	for _, id := range ids {
		equal(l.rig, "runner of the job", l.inState(id, domain.Running).Runner, heir.ID())
	}
	finish()
	l.stop(heir)
	for _, id := range ids {
		row := l.inState(id, domain.Done)
		equal(l.rig, "attempts, stalls and last error", fmt.Sprintf("%d %d %q", row.Attempts, row.Stalls, row.Error), `1 0 ""`)
	}
}

// gate gives a door and what opens it, at the latest when the case ends.
func (l *life) gate() (door <-chan struct{}, open func()) {
	closed := make(chan struct{})
	open = sync.OnceFunc(func() { close(closed) })
	l.Cleanup(open)
	return closed, open
}

// liveSweep sweeps while leases live; in real time nobody can say for how long.
func (l *life) liveSweep() int {
	l.Helper()
	if l.Advance == nil {
		return 0
	}
	return l.sweep()
}

// poison: a job that kills every process that runs it is dead after a bounded
// number of stalls, and no attempt was counted.
func lifePoison(l *life) {
	id := l.put(memo{}, enqueue.Unique("k"))
	for range 3 {
		r := l.request(1)
		r.Kinds, r.Lease = []string{memo{}.Kind()}, l.short()
		equal(l.rig, "claimed jobs", len(l.ask(r).Jobs), 1)
		l.pass(r.Lease + time.Millisecond)
		equal(l.rig, "claims put back", l.sweep(), 1)
		l.soon()
	}
	row := l.inState(id, domain.Dead)
	equal(l.rig, "attempts and stalls", [2]int{row.Attempts, row.Stalls}, [2]int{0, 3})
	next := l.put(memo{}, enqueue.Unique("k"))
	if next == id {
		l.Fatal("the key of the dead job is not free")
	}
}

// unknown: what nobody handles waits, untouched and visible.
func lifeUnknown(l *life) {
	other := l.one(ofKind("life/other"))
	own := l.put(memo{})
	got := l.drain(func(context.Context, work.Job[memo]) error { return nil })
	equal(l.rig, "completed jobs", got.Completed, 1)
	l.inState(own, domain.Done)
	row := l.inState(other, domain.Ready)
	equal(l.rig, "attempts", row.Attempts, 0)
	stats, err := l.seen.Stats(l.Context())
	l.ok("stats", err)
	equal(l.rig, "kinds that nobody handles", stats.Unhandled, []string{"life/other"})
}

// unique: a key is held while its job waits, runs and backs off, and free after.
func lifeUnique(l *life) {
	id := l.put(memo{}, enqueue.Unique("k"))
	held := func() {
		job, result, err := l.client.Enqueue(l.Context(), memo{}, enqueue.Unique("k"))
		if err != nil || result != domain.Existing || job.ID != id {
			l.Errorf("enqueue of a held key gave %v %v %v", job, result, err)
		}
	}
	held()
	l.again(3, func(_ context.Context, j work.Job[memo]) error {
		held()
		if j.Attempt == 1 {
			return errFailed
		}
		return nil
	}, quick(3))
	l.inState(id, domain.Done)
	if next := l.put(memo{}, enqueue.Unique("k")); next == id {
		l.Fatal("the key of the done job is not free")
	}
}

// tenant: the handler works in the tenant of its job, and what it enqueues is that tenant's.
func lifeTenant(l *life) {
	acme := domain.WithTenant(l.Context(), "acme")
	_, _, err := l.client.Enqueue(acme, memo{N: 1})
	l.ok("enqueue", err)
	l.put(memo{N: 2})
	var mu sync.Mutex
	tenants := map[int]string{}
	l.drain(func(ctx context.Context, j work.Job[memo]) error {
		mu.Lock()
		tenants[j.Args.N] = domain.TenantOf(ctx)
		mu.Unlock()
		if j.Args.N < 10 {
			_, _, err := l.client.Enqueue(ctx, memo{N: j.Args.N + 10})
			return err
		}
		return nil
	})
	equal(l.rig, "tenants in the handlers' contexts", tenants, map[int]string{1: "acme", 2: "", 11: "acme", 12: ""})
	n, err := l.seen.Count(acme, domain.Filter{})
	l.ok("count", err)
	equal(l.rig, "jobs of the tenant", n.N, 2)
}

// host: what the host rolled back never runs, what it committed does.
func lifeHost(l *life) {
	if l.Backend.Tx == nil || l.Begin == nil {
		_, _, err := l.client.Enqueue(l.Context(), memo{}, enqueue.In(foreignTx{}))
		if domain.CodeOf(err) == "" {
			l.Fatal("an enqueue in a transaction that the backend cannot join gave no fault")
		}
		return
	}
	for n, end := range []func(HostTx) error{func(tx HostTx) error { return tx.Rollback() }, func(tx HostTx) error { return tx.Commit() }} {
		tx := l.Begin(l)
		_, _, err := l.client.Enqueue(l.Context(), memo{N: n}, enqueue.In(tx.Tx))
		l.ok("enqueue in the host's transaction", err)
		l.ok("end of the host's transaction", end(tx))
		got := l.drain(func(context.Context, work.Job[memo]) error { return nil })
		equal(l.rig, "completed jobs", got.Completed, n)
	}
}

// fleet: several runners at once, over their own handles where there are any,
// run each job once.
func lifeFleet(l *life) {
	const jobs = 120
	var items []enqueue.Item
	for i := range jobs {
		items = append(items, enqueue.Item{Args: memo{N: i}})
	}
	_, err := l.client.EnqueueMany(l.Context(), items)
	l.ok("enqueue many", err)
	var runs [jobs]atomic.Int64
	stores := l.handles(3)
	l.race(len(stores), func(i int) error {
		r := l.leased(patience, stores[i], func(_ context.Context, j work.Job[memo]) error {
			runs[j.Args.N].Add(1)
			return nil
		})
		_, err := r.Drain(l.Context(), driving.DrainOptions{Limit: patience})
		return err
	})
	for n := range runs {
		equal(l.rig, fmt.Sprintf("runs of job %d", n), runs[n].Load(), 1)
	}
	equal(l.rig, "done jobs", l.count(domain.Filter{States: []domain.State{domain.Done}}), jobs)
}

// prune: upkeep removes what is over, and only that.
func lifePrune(l *life) {
	kept := l.put(memo{})
	gone := l.put(memo{}, enqueue.Keep(domain.Retention{Done: l.short()}))
	l.drain(func(context.Context, work.Job[memo]) error { return nil })
	l.pass(l.short() + time.Millisecond)
	n, err := l.sweeper().Prune(l.Context(), nil)
	l.ok("prune", err)
	equal(l.rig, "pruned rows", n, 1)
	l.inState(kept, domain.Done)
	_, err = l.seen.Get(l.Context(), gone)
	l.wantCode("read of the pruned job", err, domain.NotFound)
}
