package e2e

import (
	"strings"
	"testing"

	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/domain"
)

// added is what rowlock enqueue --json says.
type added struct{ ID, Result string }

// TestTenantsKeepApart: one tenant goes to every command's door and finds nothing of
// another's behind it.
func TestTenantsKeepApart(t *testing.T) { onEveryStore(t, testTenantsKeepApart) }

func testTenantsKeepApart(t *testing.T, b *box) {
	acme := domain.WithTenant(t.Context(), "acme")
	batch, err := b.queue().Batches().Create(acme, batches.Options{Name: "hush"})
	if err != nil {
		t.Fatal(err)
	}
	own := func(args ...string) []string { return append(args, "--tenant", "acme", "--json") }
	other := func(args ...string) []string { return append(args, "--tenant", "other", "--json") }
	id := read[added](t, b.ok(own("enqueue", "k", "--unique", "u", "--batch", batch.String())...)).ID
	if a := read[added](t, b.ok(other("enqueue", "k", "--unique", "u")...)); a.Result != "inserted" || a.ID == id {
		t.Errorf("another tenant's key is the same: %+v", a)
	}
	b.ok(other("jobs", "delete", "--all", "--state", "ready")...)
	for _, args := range [][]string{
		{"jobs", "show", id}, {"jobs", "retry", id}, {"jobs", "cancel", id}, {"jobs", "delete", id},
		{"batches", "show", batch.String()}, {"batches", "seal", batch.String()}, {"batches", "forget", batch.String()},
		{"enqueue", "k", "--batch", batch.String()},
	} {
		b.fails(3, other(args...)...)
	}
	for _, args := range [][]string{{"jobs", "list"}, {"jobs", "list", "--batch", batch.String()}, {"dead", "list"}, {"batches", "list"}} {
		if r := b.ok(other(args...)...); strings.TrimSpace(r.out) != "[]" {
			t.Errorf("another tenant sees it: %v", r)
		}
	}
	for _, args := range [][]string{
		{"jobs", "retry", "--all", "--state", "ready"}, {"jobs", "cancel", "--all"}, {"jobs", "delete", "--batch", batch.String(), "--state", "ready"},
	} {
		if v := read[struct{ Done, Refused int }](t, b.ok(other(args...)...)); v.Done+v.Refused != 0 {
			t.Errorf("another tenant changes it: %v: %+v", args, v)
		}
	}
	if s := read[stats](t, b.ok(other("stats")...)); s.Totals.Pending != 0 {
		t.Errorf("another tenant counts it: %+v", s.Totals)
	}
	if r := b.fails(2, own("enqueue", "--file", b.file(`{"kind":"k","tenant":"other"}`))...); !strings.Contains(r.out+r.err, "tenant_cross_write") {
		t.Errorf("a line that names another tenant: %v", r)
	}
	b.fails(2, "jobs", "list", "--tenant", strings.Repeat("x", 191))
	b.fails(2, "enqueue", "k", "--tenant", strings.Repeat("x", 191))
	if j := read[job](t, b.ok(own("jobs", "show", id)...)); j.State != "ready" || len(read[[]job](t, b.ok(own("jobs", "list")...))) != 1 {
		t.Errorf("the tenant itself sees %+v", j)
	}
	if v := read[set](t, b.ok(own("batches", "show", batch.String())...)); v.State != "open" || v.Pending != 1 {
		t.Errorf("the tenant itself sees %+v", v)
	}
}

// set is what rowlock batches show --json says.
type set struct {
	ID, Name, State string
	Total, Done     int
	Failed, Pending int
	CallbackJob     string `json:"callback_job"`
}

// TestBatchesByHand: an operator looks at a batch, seals it, ends its members and
// forgets it.
func TestBatchesByHand(t *testing.T) { onEveryStore(t, testBatchesByHand) }

func testBatchesByHand(t *testing.T, b *box) {
	id, err := b.queue().Batches().Create(t.Context(), batches.Options{Name: "news", Callback: Callback{}})
	if err != nil {
		t.Fatal(err)
	}
	b.ok("enqueue", "--file", b.file(`{"kind":"k","batch":"`+id.String()+`"}`, `{"kind":"k","unique":"u","batch":"`+id.String()+`"}`))
	if a := read[added](t, b.ok("enqueue", "k", "--unique", "u", "--batch", id.String(), "--json")); a.Result != "existing" {
		t.Errorf("a holder of the key: %+v", a)
	}
	show := func() set { return read[set](t, b.ok("batches", "show", id.String(), "--json")) }
	if v := show(); v.State != "open" || v.Name != "news" || v.Pending != 2 {
		t.Errorf("open: %+v", v)
	}
	if r := b.ok("batches", "seal", id.String()); r.out != "sealed: 2 jobs\n" {
		t.Error(r)
	}
	if r := b.ok("batches", "seal", id.String()); r.out != "was sealed before: 2 jobs\n" {
		t.Error(r)
	}
	b.fails(4, "enqueue", "k", "--batch", id.String())
	if all := read[[]set](t, b.ok("batches", "list", "--state", "sealed", "--json")); len(all) != 1 || all[0].ID != id.String() {
		t.Errorf("listed %+v", all)
	}
	if n := len(b.jobs("--batch", id.String())); n != 2 {
		t.Errorf("%d members", n)
	}
	b.ok("jobs", "cancel", "--batch", id.String())
	v := show()
	if v.State != "finished" || v.Total != 2 || v.Done != 0 || v.Failed != 2 {
		t.Errorf("finished: %+v", v)
	}
	if j := b.show(v.CallbackJob); j.Kind != "callback" || !strings.Contains(string(j.Args), `"failed":2`) {
		t.Errorf("the callback is %+v", j)
	}
	b.ok("jobs", "retry", "--batch", id.String(), "--state", "cancelled")
	if v := show(); v.State != "finished" || v.Failed != 2 {
		t.Errorf("a retry of its members moved it: %+v", v)
	}
	b.ok("batches", "forget", id.String())
	b.fails(3, "batches", "show", id.String())
	if n := len(b.jobs("--batch", id.String())); n != 2 {
		t.Errorf("%d members when it was forgotten", n)
	}
}

// TestUniquePolicies: what the command says and does where the key is held.
func TestUniquePolicies(t *testing.T) { onEveryStore(t, testUniquePolicies) }

func testUniquePolicies(t *testing.T, b *box) {
	put := func(args ...string) added {
		t.Helper()
		return read[added](t, b.ok(append([]string{"enqueue"}, append(args, "--json")...)...))
	}
	first := put("k", `{"n":1}`, "--unique", "u", "--after", "1h")
	for _, c := range []struct {
		policy, result, args string
	}{{"skip", "existing", `{"n":1}`}, {"reschedule", "rescheduled", `{"n":1}`}, {"replace", "replaced", `{"n":2}`}} {
		got := put("k", `{"n":2}`, "--unique", "u", "--on-conflict", c.policy, "--after", "2h")
		if j := b.show(first.ID); got.ID != first.ID || got.Result != c.result || string(j.Args) != c.args || j.State != "scheduled" {
			t.Errorf("%s: %+v, the holder is %+v", c.policy, got, j)
		}
	}
	if r := b.fails(4, "enqueue", "k", "--unique", "u", "--on-conflict", "error"); !strings.Contains(r.err, first.ID) {
		t.Errorf("it does not name the holder: %v", r)
	}
	once := put("k", "--unique", "w", "--unique-for", "3650d")
	b.ok("jobs", "cancel", once.ID)
	if again := put("k", "--unique", "w", "--unique-for", "3650d"); again.ID != once.ID || again.Result != "existing" {
		t.Errorf("a second one in the window: %+v", again)
	}
	if free := put("k", "--unique", "w"); free.Result != "inserted" {
		t.Errorf("a key without a window is the same: %+v", free)
	}
}
