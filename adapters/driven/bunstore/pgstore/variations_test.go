package pgstore_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/servers"
)

// crowded are the cases of many callers and many rows, which say nothing of how a
// database is set up.
var crowded = []string{
	"model", "bulk", "bound/model", "bound/interleave", "bound/race", "bound/many", "turn/race", "turn/many", "turn/crossed",
	"batch/many", "batch/race", "batch/barrier", "batch/once", "batch/crossed", "schedule/race", "schedule/once", "failure/many", "unique/rivals", "migrate/rows",
}

// but leaves out those, and categories that another variation has.
// ROWLOCK_STRESS=1 runs them all.
func but(categories ...string) (opts []conformance.Option) {
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		return nil
	}
	for _, name := range append(categories, crowded...) {
		opts = append(opts, conformance.Except(name, "TestConformance runs it, and this one does with ROWLOCK_STRESS=1"))
	}
	return opts
}

// setting changes a setting of the test's database for all sessions to come.
func setting(t *testing.T, dsn, name, value string) {
	t.Helper()
	servers.Exec(t, dsn, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET `+name+` TO `+value+`', current_database()); END $$`)
}

// TestVariationStrangeNames has names that need quoting, an empty search_path,
// and a server that lives by another time. It has the database's own clock.
func TestVariationStrangeNames(t *testing.T) {
	dsn := servers.Postgres(t)
	setting(t, dsn, "search_path", "''''")
	setting(t, dsn, "timezone", "''Asia/Shanghai''")
	conformance.Run(t, suite{dsn: dsn, schema: `Ärger "%d" ?0 @p1 :x 'q' ; --`, prefix: "My_Jobs_"}.reusing(t).open, but("concurrency", "turn", "slot", "fair", "order", "find", "prune", "runners", "migrate", "unique", "payload", "recover", "hosttx/unique", "hosttx/replace", "hosttx/turns")...)
}

// TestVariationSerializable has a database whose transactions are serializable
// unless they ask for something else.
func TestVariationSerializable(t *testing.T) {
	dsn := servers.Postgres(t)
	setting(t, dsn, "default_transaction_isolation", "serializable")
	conformance.Run(t, suite{dsn: dsn, clock: true}.reusing(t).open, but("identity", "payload", "find", "order", "time", "errors", "runners", "fair", "lease", "tenancy", "migrate", "schedule", "slot", "prune", "concurrency/recover", "concurrency/replace", "concurrency/id", "concurrency/renew", "concurrency/promote")...)
}

// TestVariationSimpleProtocol has a host's pool that sends values in the text.
func TestVariationSimpleProtocol(t *testing.T) {
	dsn := servers.Postgres(t)
	setting(t, dsn, "default_transaction_isolation", "''repeatable read''")
	conformance.Run(t, suite{dsn: dsn, clock: true, pool: 8, mode: pgx.QueryExecModeSimpleProtocol, notify: true}.sharing(t).reusing(t).open, but("concurrency", "fair", "slot", "lease", "migrate", "runners", "bound", "turn", "time", "tenancy", "order", "recover", "schedule")...)
}

// TestVariationCachedStatements has a host's pool as pgx makes it by default.
func TestVariationCachedStatements(t *testing.T) {
	conformance.Run(t, suite{dsn: servers.Postgres(t), clock: true, pool: 8, mode: pgx.QueryExecModeCacheStatement, notify: true}.sharing(t).reusing(t).open, but("concurrency", "identity", "payload", "bound", "batch", "time", "errors", "tenancy", "turn", "slot", "fair", "edit", "find", "prune", "migrate", "order")...)
}

// TestVariationPreparedStatements has one that the store cannot look into, so
// that its statements are prepared and kept.
func TestVariationPreparedStatements(t *testing.T) {
	conformance.Run(t, suite{dsn: servers.Postgres(t), pool: 8, mode: pgx.QueryExecModeCacheStatement, wrapped: true, notify: true}.sharing(t).reusing(t).open, but("concurrency", "turn", "order", "fair", "identity", "tenancy", "time", "errors", "migrate", "edit", "payload", "recover", "slot")...)
}

// TestVariationPgBouncer has a pooler in transaction mode in between.
func TestVariationPgBouncer(t *testing.T) {
	conformance.Run(t, suite{dsn: servers.PgBouncer(t), clock: true, notify: true}.reusing(t).open, but("identity", "payload", "time", "errors", "order", "slot", "find", "tenancy", "schedule", "recover", "concurrency/recover", "concurrency/renew", "concurrency/sweepers")...)
}
