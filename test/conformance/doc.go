// Package conformance is the one description of how a Rowlock store behaves,
// as tests: a store that passes is a Rowlock store, and the suite doubles as its
// specification. Adapter authors need one call:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, func(t testing.TB) driven.Backend { return open(t) })
//	}
//
// where open gives a fresh, installed, empty store and registers its own
// t.Cleanup. It is called once per case, and cases run in parallel.
//
// What the suite can do beyond the ports (move the store's clock, open a
// transaction of the host's, break the store's statements) comes in a Harness,
// which the same function may return instead of a bare Backend:
//
//	conformance.Run(t, func(t testing.TB) conformance.Harness {
//		clock := conformance.NewClock()
//		return conformance.Harness{
//			Backend: open(t, mystore.Config{Now: clock.Now}),
//			Advance: clock.Advance,
//		}
//	})
//
// Mandatory categories always run. Optional ones (hosttx, notify, migrate,
// faults) run exactly when the capability is there: a non-nil field of Backend.
// A capability without the harness field that its cases need is a failure, not a
// skip. A store that must leave a case out says so with a reason, which is printed:
//
//	conformance.Except("claim/queues", "no loose scan before v3, see https://...")
//
// Case names are category/case; Cases lists them, and every "must" in
// ports/driven names the one that shows it. Single cases run as
// `go test -run 'TestConformance/claim/once'`. RunLifecycle drives the real
// services over a store on top of that. Setting ROWLOCK_STRESS=1 makes the
// concurrency, bulk and model cases larger.
//
// The package may import domain, ports, application and test/faults, and must
// not know any adapter.
package conformance
