package mysqlstore_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/servers"
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

// onEach runs a test on each server.
func onEach(t *testing.T, test func(t *testing.T, p product)) {
	for _, p := range products {
		t.Run(p.name, func(t *testing.T) { test(t, p) })
	}
}

func stress() bool { return os.Getenv("ROWLOCK_STRESS") == "1" }

// without leaves categories to TestConformance, but for the long form of the tests.
func without(categories ...string) (opts []conformance.Option) {
	if stress() {
		return nil
	}
	for _, name := range categories {
		opts = append(opts, conformance.Except(name, "TestConformance has it; here it runs with ROWLOCK_STRESS=1"))
	}
	return opts
}

// TestConformance is the store on a pool of its own.
func TestConformance(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		conformance.Run(t, newSuite(suite{dsn: p.dsn(t), clock: true}).open)
	})
}

// TestConformanceInRealTime has the database's own clock, in strange sessions.
func TestConformanceInRealTime(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		dsn := p.dsn(t, strange(p)...)
		conformance.Run(t, newSuite(suite{dsn: dsn, pool: 4, prefix: "Q_"}).open, without("model", "bulk", "concurrency")...)
	})
}

// TestConformanceHostPool is the store on a pool of the host's with one
// connection, of which every setting is another than the usual, and breaks it
// below the adapter.
func TestConformanceHostPool(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		dsn := p.dsn(t, loose(p)...)
		conformance.Run(t, newSuite(suite{dsn: dsn, clock: true, pool: 1, faults: true}).open, without("model", "bulk", "concurrency")...)
	})
}

// TestConformanceNoSkipLocked is the claim for servers that cannot skip locked rows.
func TestConformanceNoSkipLocked(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		conformance.Run(t, newSuite(suite{dsn: p.dsn(t), clock: true, noSkip: true}).open,
			without("model", "bulk", "insert", "unique", "find", "errors", "identity", "time", "payload", "tenancy", "hosttx", "migrate", "runners")...)
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

// TestVariations is the whole suite under each setting alone.
func TestVariations(t *testing.T) {
	if !stress() {
		t.Skip("the long form, ROWLOCK_STRESS=1: the runs of the suite have these settings together")
	}
	onEach(t, func(t *testing.T, p product) {
		one := append(append([]servers.Option{}, loose(p)...), strange(p)...)
		for i, opt := range append(one, servers.Param("interpolateParams", "true"), servers.Param(p.isolation, "'READ-UNCOMMITTED'")) {
			dsn := p.dsn(t, opt)
			conformance.Run(t, newSuite(suite{dsn: dsn, clock: true, pool: 1 + i%3}).open)
		}
		conformance.Run(t, newSuite(suite{dsn: quotedDatabase(t, p), clock: true, prefix: "select_"}).open)
	})
}

// TestConformanceInOddNames is a database whose name needs quoting.
func TestConformanceInOddNames(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		conformance.Run(t, newSuite(suite{dsn: quotedDatabase(t, p), clock: true, prefix: "select_"}).open,
			without("model", "bulk", "concurrency", "insert", "unique", "claim", "settle", "lease", "edit", "identity", "time", "payload", "tenancy", "errors", "order", "runners")...)
	})
}
