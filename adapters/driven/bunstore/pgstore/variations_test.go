package pgstore_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/servers"
)

// core leaves out what takes long and is not about how a database is set up.
// ROWLOCK_STRESS=1 runs it all.
func core() []conformance.Option {
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		return nil
	}
	const reason = "long; TestConformance runs it, and this one does with ROWLOCK_STRESS=1"
	return []conformance.Option{
		conformance.Except("model", reason), conformance.Except("bulk", reason), conformance.Except("payload/limit", reason),
	}
}

// setting changes a setting of the test's database for all sessions to come.
func setting(t *testing.T, dsn, name, value string) {
	t.Helper()
	servers.Exec(t, dsn, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET `+name+` TO `+value+`', current_database()); END $$`)
}

// TestConformanceStrangeNames has names that need quoting, an empty search_path,
// and a server that lives by another time.
func TestConformanceStrangeNames(t *testing.T) {
	dsn := servers.Postgres(t)
	setting(t, dsn, "search_path", "''''")
	setting(t, dsn, "timezone", "''Asia/Shanghai''")
	conformance.Run(t, suite{dsn: dsn, schema: `Ärger "%d" ?0 @p1 :x 'q' ; --`, prefix: "My_Jobs_"}.open, core()...)
}

// TestConformanceSerializable has a database whose transactions are serializable
// unless they ask for something else.
func TestConformanceSerializable(t *testing.T) {
	dsn := servers.Postgres(t)
	setting(t, dsn, "default_transaction_isolation", "serializable")
	conformance.Run(t, suite{dsn: dsn, clock: true}.open, core()...)
}

// TestConformanceSimpleProtocol has a host's pool that sends values in the text.
func TestConformanceSimpleProtocol(t *testing.T) {
	dsn := servers.Postgres(t)
	setting(t, dsn, "default_transaction_isolation", "''repeatable read''")
	conformance.Run(t, suite{dsn: dsn, clock: true, pool: 4, mode: pgx.QueryExecModeSimpleProtocol}.open, core()...)
}

// TestConformanceCachedStatements has a host's pool as pgx makes it by default.
func TestConformanceCachedStatements(t *testing.T) {
	conformance.Run(t, suite{dsn: servers.Postgres(t), clock: true, pool: 4, mode: pgx.QueryExecModeCacheStatement}.open, core()...)
}

// TestConformancePreparedStatements has one that the store cannot look into, so
// that its statements are prepared and kept.
func TestConformancePreparedStatements(t *testing.T) {
	conformance.Run(t, suite{dsn: servers.Postgres(t), pool: 2, mode: pgx.QueryExecModeCacheStatement, wrapped: true}.open, core()...)
}

// TestConformancePgBouncer has a pooler in transaction mode in between.
func TestConformancePgBouncer(t *testing.T) {
	conformance.Run(t, suite{dsn: servers.PgBouncer(t), clock: true}.open, core()...)
}
