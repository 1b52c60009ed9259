package servers

import "testing"

// Postgres returns the DSN of a fresh PostgreSQL database (a URL for pgx).
func Postgres(t testing.TB, opts ...Option) string {
	t.Helper()
	return fresh(t, "postgres", postgres, opts)
}

// PgBouncer is like Postgres, behind a pooler in transaction mode: what belongs
// to a session, such as LISTEN, does not work there, nor do prepared statements
// (for pgx: Param("default_query_exec_mode", "exec")).
func PgBouncer(t testing.TB, opts ...Option) string {
	t.Helper()
	return fresh(t, "pgbouncer", postgres, opts)
}

// MySQL returns the DSN of a fresh MySQL database, in the form of
// go-sql-driver/mysql; URL gives the other form.
func MySQL(t testing.TB, opts ...Option) string {
	t.Helper()
	return fresh(t, "mysql", mySQL, opts)
}

// MariaDB is MySQL for a MariaDB server.
func MariaDB(t testing.TB, opts ...Option) string {
	t.Helper()
	return fresh(t, "mariadb", mySQL, opts)
}

// MSSQL returns the DSN of a fresh SQL Server database (a sqlserver:// URL).
func MSSQL(t testing.TB, opts ...Option) string {
	t.Helper()
	return fresh(t, "mssql", msSQL, opts)
}
