package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func modelCases() []testCase {
	return []testCase{
		{"everything", func(c *rig) {
			c.model(1, [...]int{opInsert: 10, opClaim: 10, opSettle: 10, opRenew: 4, opRecover: 4, opEdit: 8, opPrune: 2, opTime: 6})
		}},
		{"keys", func(c *rig) {
			c.model(2, [...]int{opInsert: 14, opClaim: 8, opSettle: 8, opRenew: 0, opRecover: 3, opEdit: 14, opPrune: 2, opTime: 4})
		}},
		{"leases", func(c *rig) {
			c.model(3, [...]int{opInsert: 6, opClaim: 14, opSettle: 5, opRenew: 8, opRecover: 8, opEdit: 3, opPrune: 1, opTime: 12})
		}},
	}
}

// The operations of the model test.
const (
	opInsert = iota
	opClaim
	opSettle
	opRenew
	opRecover
	opEdit
	opPrune
	opTime
	ops
)

// walk is one random walk over a store and its reference at once.
type walk struct {
	*rig
	ref     *reference
	rng     *rand.Rand
	tickets []driven.Claimed // of claims now and then, most of them stale
	log     []string
}

// model runs random operations against the store and the reference, and
// compares every answer and all that can be seen after each. The numbers are
// the same in every run; ROWLOCK_STRESS=1 makes the walk longer.
func (c *rig) model(seed uint64, weights [ops]int) {
	c.Helper()
	w := &walk{rig: c, ref: newReference(c.now()), rng: newRand(seed)}
	defer func() {
		if c.Failed() {
			c.Logf("the last operations:\n%s", fmt.Sprint(w.log[max(0, len(w.log)-8):]))
		}
	}()
	sum := 0
	for _, weight := range weights {
		sum += weight
	}
	for range size(300, 8000) {
		pick, op := w.rng.IntN(sum), 0
		for pick >= weights[op] {
			pick -= weights[op]
			op++
		}
		w.step(op)
		w.compare()
		w.tick()
	}
}

func (w *walk) step(op int) {
	w.Helper()
	switch op {
	case opInsert:
		w.insertSome()
	case opClaim:
		w.claimSome()
	case opSettle:
		w.settleSome()
	case opRenew:
		w.renewSome()
	case opRecover:
		w.recoverSome()
	case opEdit:
		w.editSome()
	case opPrune:
		w.pruneSome()
	case opTime:
		w.moveTime()
	}
}

func (w *walk) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format+"\n", args...))
}

// --- choices ---

func pick[T any](w *walk, from ...T) T { return from[w.rng.IntN(len(from))] }

func (w *walk) chance(percent int) bool { return w.rng.IntN(100) < percent }

// span is a random wait; without a test clock only now and much later can be told apart.
func (w *walk) span() time.Duration {
	if w.Advance == nil {
		return pick(w, 0, 2*long)
	}
	return time.Duration(w.rng.IntN(300_000)) * time.Millisecond
}

func (w *walk) due() domain.Due {
	if w.Advance != nil && w.chance(25) {
		return domain.Due{At: w.ref.now.Add(w.span() - 2*time.Minute)}
	}
	return domain.Due{After: w.span()}
}

// ids picks a few different rows, and now and then one that is not there.
func (w *walk) ids(n int) []domain.JobID {
	rows := w.ref.sorted(func(*refRow) bool { return true })
	var ids []domain.JobID
	for _, i := range w.rng.Perm(len(rows))[:min(n, len(rows))] {
		ids = append(ids, rows[i].ID)
	}
	if w.chance(15) {
		ids = append(ids, w.id())
	}
	return ids
}

// claims picks a few tickets of different jobs, also stale ones.
func (w *walk) claims(n int) []driven.Claimed {
	var got []driven.Claimed
	seen := map[domain.JobID]bool{}
	for range 3 * n {
		if len(w.tickets) == 0 || len(got) == n {
			break
		}
		t := w.tickets[len(w.tickets)-1-w.rng.IntN(min(len(w.tickets), 25))]
		if w.chance(5) {
			t.Token = w.token()
		}
		if !seen[t.Job.ID] {
			seen[t.Job.ID] = true
			got = append(got, t)
		}
	}
	return got
}

// --- operations ---

func (w *walk) insertSome() {
	w.Helper()
	if len(w.ref.rows) > 60 {
		w.pruneSome()
		return
	}
	var jobs []domain.NewJob
	for range 1 + w.rng.IntN(4) {
		n := w.job(inQueue(pick(w, "a", "b")), ofKind(pick(w, "k1", "k2")), priority(w.rng.IntN(3)-1), withArgs(fmt.Sprint(w.rng.IntN(1000))),
			keep(domain.Retention{Dead: pick(w, 0, w.keepSpan()), Cancelled: pick(w, 0, domain.KeepForever)}))
		n.Tenant, n.Due = pick(w, "", "t", "T"), w.due()
		if w.chance(60) {
			n.Unique = &domain.Unique{Key: pick(w, "x", "X", "y"), OnConflict: pick(w, domain.Skip, domain.Error, domain.Replace, domain.Reschedule)}
			if w.chance(20) {
				n.Unique.Window, n.Unique.Bucket = long, int64(w.rng.IntN(2))
			}
		} else if old := w.ids(1); len(old) > 0 && w.chance(20) {
			n.ID = old[0]
		}
		jobs = append(jobs, n)
	}
	w.note("insert %+v", jobs)
	got, err := w.store.Insert(w.Context(), jobs)
	want, clash := w.ref.insert(jobs)
	if clash {
		w.wantCode("insert", err, domain.Conflict)
		return
	}
	w.ok("insert", err)
	equal(w.rig, "answers of the insert", got, want)
}

func (w *walk) keepSpan() time.Duration {
	if w.Advance == nil {
		return long
	}
	return time.Duration(1+w.rng.IntN(200_000)) * time.Millisecond
}

func (w *walk) claimSome() {
	w.Helper()
	r := w.request(1 + w.rng.IntN(5))
	r.Queue, r.Runner = pick(w, "a", "b"), pick(w, "r1", "r2")
	r.Kinds = pick(w, []string{"k1"}, []string{"k2"}, []string{"k1", "k2"}, []string{"k2", "none"})
	if r.Lease = 2 * long; w.Advance != nil {
		r.Lease = time.Duration(1+w.rng.IntN(180_000)) * time.Millisecond
	}
	w.note("claim %+v", r)
	got := w.ask(r).Jobs
	equal(w.rig, "claimed jobs", fmt.Sprint(idsOf(got)), fmt.Sprint(w.ref.claim(r)))
	w.tickets = append(w.tickets, got...)
}

func (w *walk) settleSome() {
	w.Helper()
	var outcomes []driven.Outcome
	for _, j := range w.claims(1 + w.rng.IntN(4)) {
		o := pick(w, done, died, gaveUp, released)(j)
		if w.chance(50) {
			o = pick(w, failed, snoozed)(j, w.span())
		}
		if o.Keep > 0 {
			o.Keep = w.keepSpan()
		}
		if o.To == domain.Done {
			o.Result, o.ForgetArgs = []byte(pick(w, "", "1", `{"n":2}`)), w.chance(30)
		}
		outcomes = append(outcomes, o)
	}
	w.note("settle %+v", outcomes)
	equal(w.rig, "dropped outcomes", sorted(w.settle(outcomes...)), sorted(w.ref.settle(outcomes)))
}

func (w *walk) renewSome() {
	w.Helper()
	r := driven.RenewRequest{Tickets: renewals(w.claims(1 + w.rng.IntN(5))...), Lease: long + w.span()}
	if w.Advance != nil {
		r.Lease = w.span() + time.Millisecond
	}
	for i := range r.Tickets {
		r.Tickets[i].Stuck = w.chance(20)
	}
	w.note("renew %+v", r)
	got, err := w.store.Renew(w.Context(), r)
	w.ok("renew", err)
	want := w.ref.renew(r)
	equal(w.rig, "lost claims", sorted(got.Lost), sorted(want.Lost))
	equal(w.rig, "cancelled claims", sorted(got.Cancelled), sorted(want.Cancelled))
}

func (w *walk) recoverSome() {
	w.Helper()
	r := driven.RecoverRequest{
		Limit: 100, Stalls: domain.StallPolicy{Base: 20 * time.Second, Cap: time.Minute, Max: 2},
		KeepDead: pick(w, domain.KeepForever, w.keepSpan()), Except: pick(w, "", "r1"),
	}
	w.note("recover %+v", r)
	byID := func(a, b driven.Recovery) int { return a.ID.Compare(b.ID) }
	got, want := w.recover(r).Jobs, w.ref.recover(r)
	slices.SortFunc(got, byID)
	slices.SortFunc(want, byID)
	equal(w.rig, "recovered jobs", fmt.Sprint(got), fmt.Sprint(want))
}

func (w *walk) editSome() {
	w.Helper()
	r := driven.EditRequest{IDs: w.ids(1 + w.rng.IntN(6)), Tenant: pick(w, "", "", "t", "T"), Due: w.due(), Keep: w.keepSpan()}
	type pair struct {
		name  string
		store func() ([]domain.Edited, error)
		ref   func(driven.EditRequest) []domain.Code
	}
	ctx, s := w.Context(), w.store
	p := pick(w,
		pair{"retry", func() ([]domain.Edited, error) { return s.Retry(ctx, r) }, w.ref.retry},
		pair{"retry", func() ([]domain.Edited, error) { return s.Retry(ctx, r) }, w.ref.retry},
		pair{"cancel", func() ([]domain.Edited, error) { return s.Cancel(ctx, r) }, w.ref.cancel},
		pair{"reschedule", func() ([]domain.Edited, error) { return s.Reschedule(ctx, r) }, w.ref.reschedule},
		pair{"delete", func() ([]domain.Edited, error) { return s.Delete(ctx, r) }, w.ref.delete},
	)
	w.note("%s %+v", p.name, r)
	answers, err := p.store()
	var codes []domain.Code
	for _, err := range w.edit(p.name, answers, err, r.IDs...) {
		codes = append(codes, domain.CodeOf(err))
	}
	equal(w.rig, "answers of the "+p.name, fmt.Sprintf("%q", codes), fmt.Sprintf("%q", p.ref(r)))
}

func (w *walk) pruneSome() {
	w.Helper()
	r := driven.PruneRequest{Limit: 1000, Tenant: pick(w, "", "t")}
	w.note("prune %+v", r)
	equal(w.rig, "pruned rows", w.prune(r.Limit, r.Tenant), w.ref.prune(r))
}

func (w *walk) moveTime() {
	if w.Advance == nil {
		return
	}
	d := (w.span() / 2).Truncate(time.Millisecond)
	w.note("advance %v", d)
	w.Advance(d)
	w.ref.now = w.ref.now.Add(d)
}

// tick keeps the due times of two operations apart where both clocks go on by themselves.
func (w *walk) tick() {
	if w.Advance == nil {
		wait(2 * time.Millisecond)
		w.ref.now = w.ref.now.Add(time.Millisecond)
	}
}

// --- comparison ---

// compare checks all that can be seen of the store.
func (w *walk) compare() {
	w.Helper()
	want := w.ref.sorted(func(*refRow) bool { return true })
	got := w.all()
	equal(w.rig, "number of rows", len(got), len(want))
	for i := range got {
		if g, r := w.view(got[i], w.notes(got[i])), w.view(want[i].Job, want[i].notes); g != r {
			w.Fatalf("row differs:\n got %s\nwant %s", g, r)
		}
	}
	w.compareCounts()
	w.compareQueues()
}

func (w *walk) notes(j domain.Job) int {
	w.Helper()
	notes, err := j.History.Notes()
	w.ok("read the history", err)
	return len(notes)
}

// view is a row as text: what a store has to agree on. A scheduled row that
// time has made due may or may not be called ready yet.
func (w *walk) view(j domain.Job, notes int) string {
	soon := w.ref.now
	if w.Advance == nil {
		soon = soon.Add(long) // the clocks of the two are not the same
	}
	if j.State == domain.Scheduled && !j.RunAt.After(soon) {
		j.State = domain.Ready
	}
	text := fmt.Sprintf("%s %s q=%q k=%q t=%q p=%d key=%q args=%s attempts=%d stalls=%d snoozes=%d notes=%d error=%q result=%s forgotten=%v stuck=%v",
		j.ID, j.State, j.Queue, j.Kind, j.Tenant, j.Priority, j.UniqueKey, j.Args, j.Attempts, j.Stalls, j.Snoozes, notes, j.Error, j.Result, j.Forgotten, j.Stuck)
	if j.State == domain.Running {
		text += " runner=" + j.Runner
	}
	if w.Advance == nil {
		return text // moments of two clocks cannot be compared
	}
	text += " created=" + j.CreatedAt.String()
	switch {
	case j.State == domain.Running:
		text += fmt.Sprint(" claimed=", j.ClaimedAt, " lease=", j.LeaseUntil)
	case j.State.Pending():
		text += fmt.Sprint(" due=", j.RunAt)
	default:
		text += fmt.Sprint(" finished=", j.FinishedAt, " ran=", j.Ran)
	}
	return text
}

// compareCounts checks a random filter and the statistics of a tenant.
func (w *walk) compareCounts() {
	w.Helper()
	f := domain.Filter{Queue: pick(w, "", "a"), Kind: pick(w, "", "k1"), Tenant: pick(w, "", "T"), States: pick(w, nil, []domain.State{domain.Running, domain.Dead})}
	want := w.ref.sorted(func(r *refRow) bool {
		return (f.Queue == "" || f.Queue == r.Queue) && (f.Kind == "" || f.Kind == r.Kind) && (f.Tenant == "" || f.Tenant == r.Tenant) &&
			(f.States == nil || slices.Contains(f.States, r.State))
	})
	equal(w.rig, fmt.Sprintf("count of %+v", f), w.count(f), len(want))
	var tally domain.Tally
	for _, r := range w.ref.rows {
		if f.Tenant == "" || f.Tenant == r.Tenant {
			tally = tally.Add(w.tallyOf(r))
		}
	}
	equal(w.rig, "totals of tenant "+f.Tenant, w.stats(f.Tenant).Totals(), tally)
}

func (w *walk) tallyOf(r *refRow) (t domain.Tally) {
	switch {
	case r.State.Pending() && r.RunAt.After(w.ref.now):
		t.Scheduled = 1
	case r.State.Pending():
		t.Due = 1
	case r.State == domain.Running:
		t.Running = 1
		if r.Stuck {
			t.Stuck = 1
		}
	case r.State == domain.Done:
		t.Done = 1
	case r.State == domain.Dead:
		t.Dead = 1
	case r.State == domain.Cancelled:
		t.Cancelled = 1
	}
	return t
}

func (w *walk) compareQueues() {
	w.Helper()
	got, err := w.store.Queues(w.Context(), "", 10)
	w.ok("list queues", err)
	want := []string{}
	for _, q := range []string{"a", "b"} {
		if len(w.ref.sorted(func(r *refRow) bool { return r.Queue == q && r.State.Pending() })) > 0 {
			want = append(want, q)
		}
	}
	equal(w.rig, "queues", fmt.Sprint(got), fmt.Sprint(want))
}
