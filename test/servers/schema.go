package servers

import "testing"

// Schema returns dsn, of a PostgreSQL database, with a search_path of one fresh
// schema, dropped when the test ends. It costs a fraction of a database, for
// suites that want many; a pooler in transaction mode does not take it.
func Schema(t testing.TB, dsn string) string {
	t.Helper()
	schema := product{admin: Param("lock_timeout", "20s"), drop: []string{"DROP SCHEMA %s CASCADE"}}
	name := uniqueName(t)
	admin := With(dsn, schema.admin)
	Exec(t, admin, "CREATE SCHEMA "+name)
	t.Cleanup(func() { schema.remove(t, admin, name) })
	return With(dsn, Param("search_path", name))
}
