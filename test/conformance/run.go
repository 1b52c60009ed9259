package conformance

import (
	"os"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/ports/driven"
)

// Opened is what an adapter's open function may return: the bare backend, or a
// Harness around it.
type Opened interface {
	driven.Backend | Harness
}

// Run checks a store against the whole suite. open gives a fresh, installed,
// empty store for each case and registers its own cleanup on the given t.
func Run[O Opened](t *testing.T, open func(testing.TB) O, opts ...Option) {
	t.Helper()
	s := newSettings(t, opts)
	opener := func(t testing.TB) Harness { return asHarness(open(t)) }
	probe := opener(t)
	for _, cat := range categories() {
		t.Run(cat.name, func(t *testing.T) {
			s.skipExcepted(t, cat.name)
			cat.judge(t, probe)
			t.Parallel()
			for _, k := range cat.cases {
				t.Run(k.name, func(t *testing.T) {
					s.skipExcepted(t, cat.name+"/"+k.name)
					recordPass(t)
					t.Parallel()
					k.run(newCase(t, opener(t)))
				})
			}
		})
	}
}

// Cases lists every case as category/case, in the order they are listed in.
func Cases() []string {
	var names []string
	for _, cat := range categories() {
		for _, k := range cat.cases {
			names = append(names, cat.name+"/"+k.name)
		}
	}
	return names
}

// Option changes what Run does.
type Option func(*settings)

// Except leaves one case ("slots/fair") or one category ("slots") out. The
// reason is printed and must not be empty; give the link to an issue in it.
func Except(name, reason string) Option {
	return func(s *settings) { s.excepted[name] = reason }
}

type settings struct{ excepted map[string]string }

func newSettings(t testing.TB, opts []Option) settings {
	t.Helper()
	s := settings{excepted: map[string]string{}}
	for _, opt := range opts {
		opt(&s)
	}
	for name, reason := range s.excepted {
		if strings.TrimSpace(reason) == "" {
			t.Fatalf("conformance.Except(%q) needs a reason", name)
		}
		if !isCase(name) {
			t.Fatalf("conformance.Except(%q): there is no such case or category", name)
		}
		t.Logf("EXCEPT %s: %s", name, reason)
	}
	return s
}

func isCase(name string) bool {
	for _, known := range Cases() {
		if known == name || strings.HasPrefix(known, name+"/") {
			return true
		}
	}
	return false
}

func (s settings) skipExcepted(t testing.TB, name string) {
	t.Helper()
	if reason, ok := s.excepted[name]; ok {
		t.Skipf("EXCEPT %s: %s", name, reason)
	}
}

// testCase is one case of a category.
type testCase struct {
	name string
	run  func(*rig)
}

// category is a named list of cases. An optional one tells whether the harness
// has the capability and whether the harness can drive it.
type category struct {
	name     string
	cases    []testCase
	optional func(Harness) (present bool, missing string)
}

// categories lists the whole suite, in the order of a job's life.
func categories() []category {
	return []category{
		{name: "insert", cases: insertCases()},
		{name: "unique", cases: uniqueCases()},
		{name: "claim", cases: claimCases()},
		{name: "order", cases: orderCases()},
		{name: "fair", cases: fairCases()},
		{name: "bound", cases: boundCases()},
		{name: "turn", cases: turnCases()},
		{name: "slot", cases: slotCases()},
		{name: "settle", cases: settleCases()},
		{name: "failure", cases: failureCases()},
		{name: "lease", cases: leaseCases()},
		{name: "recover", cases: recoverCases()},
		{name: "batch", cases: batchCases()},
		{name: "schedule", cases: scheduleCases()},
		{name: "switch", cases: switchCases()},
		{name: "edit", cases: editCases()},
		{name: "find", cases: findCases()},
		{name: "prune", cases: pruneCases()},
		{name: "runners", cases: runnersCases()},
		{name: "errors", cases: errorsCases()},
		{name: "identity", cases: identityCases()},
		{name: "time", cases: timeCases()},
		{name: "payload", cases: payloadCases()},
		{name: "tenancy", cases: tenancyCases()},
		{name: "bulk", cases: bulkCases()},
		{name: "concurrency", cases: concurrencyCases()},
		{name: "model", cases: modelCases()},
		{name: "hosttx", cases: hosttxCases(), optional: hosttxOptional},
		{name: "migrate", cases: migrateCases(), optional: migrateOptional},
		{name: "notify", cases: notifyCases(), optional: notifyOptional},
		{name: "faults", cases: faultsCases(), optional: faultsOptional},
	}
}

// judge skips an optional category where the capability is absent. One that the
// harness cannot drive fails here, so that no present capability goes untested.
func (cat category) judge(t testing.TB, h Harness) {
	t.Helper()
	if cat.optional == nil {
		return
	}
	present, missing := cat.optional(h)
	if present && missing != "" {
		t.Fatalf("the backend has the capability but the suite cannot drive it: %s", missing)
	}
	if !present {
		t.Skipf("%s has no such capability", h.Backend.Name)
	}
}

// stress says whether the long forms of the cases are wanted.
func stress() bool { return os.Getenv("ROWLOCK_STRESS") == "1" }

// size is a case's size: the short form, or the long one under ROWLOCK_STRESS=1.
func size(short, long int) int {
	if stress() {
		return long
	}
	return short
}
