package mysqlstore_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/servers"
	"github.com/rowlock/rowlock/test/storekit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// product is one of the two servers that every test here runs on.
type product struct {
	name      string
	dsn       func(testing.TB, ...servers.Option) string
	isolation string // the variable of a session's default
}

var products = []product{
	{"mysql", servers.MySQL, "transaction_isolation"},
	{"mariadb", servers.MariaDB, "tx_isolation"},
}

// onEach runs a test on both servers at once.
func onEach(t *testing.T, test func(t *testing.T, p product)) {
	for _, p := range products {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

func stress() bool { return os.Getenv("ROWLOCK_STRESS") == "1" }

// without leaves cases to TestConformance, but for the long form of the tests.
func without(names ...string) (opts []conformance.Option) {
	if stress() {
		return nil
	}
	for _, name := range names {
		opts = append(opts, conformance.Except(name, "TestConformance has it; here it runs with ROWLOCK_STRESS=1"))
	}
	return opts
}

// heavy are the cases whose work is in what the statements do, to many rows or for
// many callers, which no setting of a session or pool changes.
var heavy = []string{
	"model", "bulk", "concurrency", "migrate", "bound/model", "bound/interleave", "bound/many", "bound/race", "turn/race",
	"payload/limit", "payload/error", "payload/history", "payload/texts", "payload/result", "claim/more", "lease/many", "order/all",
}

// halves are what each product leaves to the other one under a setting: both have
// every case in TestConformance, and a life of jobs under each setting in
// TestVariations.
var halves = map[string][]string{
	"mysql": {
		"unique", "settle", "recover", "prune", "errors", "tenancy", "payload", "bound", "batch", "failure", "faults/insert", "faults/settle",
		"faults/recover", "faults/prune", "faults/replace", "faults/failure", "faults/stalled",
	},
	"mariadb": {
		"insert", "claim", "lease", "edit", "find", "identity", "runners", "order", "time", "turn", "slot", "schedule", "fair", "faults/claim",
		"faults/edit", "faults/renew", "faults/seal", "faults/finish", "faults/advance",
	},
}

// shared leaves out what is heavy and what the other product has under these settings.
func shared(p product) []conformance.Option {
	opts := without(heavy...)
	if stress() {
		return opts
	}
	for _, name := range halves[p.name] {
		opts = append(opts, conformance.Except(name, "the other server has it under these settings; here it runs with ROWLOCK_STRESS=1"))
	}
	return opts
}

// TestConformance is the store on a pool of its own.
func TestConformance(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		conformance.Run(t, newSuite(suite{dsn: p.dsn(t), clock: true}).open)
	})
}

// TestVariationInRealTime has the database's own clock, in strange sessions.
func TestVariationInRealTime(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		dsn := p.dsn(t, strange(p)...)
		conformance.Run(t, newSuite(suite{dsn: dsn, pool: 4, prefix: "Q_"}).open, shared(p)...)
	})
}

// TestVariationHostPool is the store on a pool of the host's with one
// connection, of which every setting is another than the usual, and breaks it
// below the adapter.
func TestVariationHostPool(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		dsn := p.dsn(t, loose(p)...)
		conformance.Run(t, newSuite(suite{dsn: dsn, clock: true, pool: 1, faults: true}).open, shared(p)...)
	})
}

// TestVariationNoSkipLocked is the claim for servers that cannot skip locked
// rows, and all else that passes over them; TestStorm has many claimers with it.
func TestVariationNoSkipLocked(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		opts := shared(p)
		opts = append(opts, without("insert", "unique", "settle", "lease", "bound", "turn", "slot", "find", "errors", "identity", "time",
			"payload", "tenancy", "hosttx", "runners")...)
		conformance.Run(t, newSuite(suite{dsn: p.dsn(t), clock: true, noSkip: true}).open, opts...)
	})
}

// loose are settings that check little and count otherwise.
func loose(p product) []servers.Option {
	return []servers.Option{
		servers.Param("clientFoundRows", "true"), servers.Param("interpolateParams", "true"),
		servers.Param("parseTime", "true"), servers.Param("loc", "Asia/Shanghai"),
		servers.Param("sql_mode", "''"), servers.Param("time_zone", "'+08:00'"), servers.Param(p.isolation, "'SERIALIZABLE'"),
	}
}

// strange are settings under which quotes, words and functions are read otherwise.
func strange(p product) []servers.Option {
	return []servers.Option{
		servers.Param("parseTime", "false"), servers.Param("charset", "latin1"),
		servers.Param("sql_mode", "'ANSI,IGNORE_SPACE,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,STRICT_ALL_TABLES'"),
		servers.Param("time_zone", "'-05:00'"), servers.Param(p.isolation, "'REPEATABLE-READ'"),
	}
}

// TestVariations is a life of jobs under each setting alone; the long form is the
// whole suite under each.
func TestVariations(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		each := append(loose(p), strange(p)...)
		each = append(each, servers.Param("interpolateParams", "true"), servers.Param(p.isolation, "'READ-UNCOMMITTED'"))
		for i, opt := range each {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				s := newSuite(suite{dsn: p.dsn(t, opt), clock: true, pool: 1 + i%3})
				if stress() {
					conformance.Run(t, s.open)
					return
				}
				life(t, s.open(t))
			})
		}
	})
}

// life takes odd jobs through a host's transaction, a claim, a failure, a retry
// and their end, and two through a turn.
func life(t *testing.T, h conformance.Harness) {
	b, in := h.Backend, storekit.Jobs(3)
	in[0].Args = []byte(`{"text":"it's \\ \" ? ?0 $1 :x @p1 -- /* 😀","n":9223372036854775807}`)
	in[1].Unique, in[1].Tenant = &domain.Unique{Key: `k\'"`}, "t "
	tx := h.Begin(t)
	inTx(t, b, tx.Tx, in)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	again := storekit.Jobs(2)
	again[1].Unique, again[1].Tenant = in[1].Unique, "t "
	got, err := b.Store.Insert(t.Context(), again)
	if err != nil || got[0].Result != domain.InsertedNew || got[1].ID != in[1].ID {
		t.Fatalf("answers %+v: %v", got, err)
	}
	taken := storekit.Claim(t, b, 10)
	if len(taken) != 4 || string(taken[0].Job.Args) != string(in[0].Args) {
		t.Fatalf("claimed %d of 4 jobs, args %s", len(taken), taken[0].Job.Args)
	}
	out := make([]driven.Outcome, len(taken))
	for i := range taken {
		out[i] = driven.Outcome{Ticket: taken[i].Ticket(), To: domain.Done, Counts: true, Keep: time.Minute}
	}
	out[0].To, out[0].Error, out[0].After = domain.Scheduled, `it's "\`, time.Second
	for range 2 {
		if res, err := b.Store.Settle(t.Context(), out); err != nil || len(res.Dropped) > 0 {
			t.Fatalf("dropped %v: %v", res.Dropped, err)
		}
	}
	h.Advance(2 * time.Minute)
	if got, err := b.Store.Prune(t.Context(), driven.PruneRequest{Limit: 10}); got.Removed != 3 || err != nil {
		t.Fatalf("pruned %d of 3: %v", got.Removed, err)
	}
	if again := storekit.Claim(t, b, 10); len(again) != 1 || again[0].Job.Error != out[0].Error || again[0].Job.Attempts != 1 {
		t.Fatalf("claimed %+v", again)
	}
	inTurn(t, b)
}

// inTurn has one of two jobs start, end and wake the other one.
func inTurn(t *testing.T, b driven.Backend) {
	t.Helper()
	out, waiting := storekit.Admitted(t, b)
	if res, err := b.Store.Settle(t.Context(), out); err != nil || len(res.Dropped) > 0 {
		t.Fatalf("dropped %v: %v", res.Dropped, err)
	}
	got, err := b.Store.Wake(t.Context(), []string{out[0].Slots[0].Key, out[0].Slots[1].Key})
	if err != nil || got.Jobs != 1 {
		t.Fatalf("woke %+v: %v", got, err)
	}
	storekit.IsIn(t, b.Store, waiting, domain.Ready)()
}

// TestLifecycle is the real services over the store.
func TestLifecycle(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		conformance.RunLifecycle(t, newSuite(suite{dsn: p.dsn(t), clock: true}).open, system.Clock(), system.IDs())
	})
}

// TestVariationInOddNames is a database whose name needs quoting.
func TestVariationInOddNames(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		conformance.Run(t, newSuite(suite{dsn: quotedDatabase(t, p), clock: true, prefix: "select_"}).open,
			without("model", "bulk", "concurrency", "insert", "unique", "claim", "settle", "lease", "edit", "identity", "time", "payload", "tenancy",
				"errors", "order", "runners", "bound", "turn", "slot")...)
	})
}
