// Package servers gives a test a database of its own on a real server.
//
// Postgres, PgBouncer, MySQL, MariaDB, MSSQL and Mongo each create a fresh
// database and drop it when the test ends. The server is the one that the environment
// names:
//
//	ROWLOCK_POSTGRES_DSN   postgres://user:password@host:port/database?sslmode=disable
//	ROWLOCK_PGBOUNCER_DSN  the same form, a pooler in transaction mode that serves every database
//	ROWLOCK_MYSQL_DSN      user:password@tcp(host:port)/database?parseTime=true, or mysql://
//	ROWLOCK_MARIADB_DSN    the same two forms
//	ROWLOCK_MSSQL_DSN      sqlserver://user:password@host:port?database=name
//	ROWLOCK_MONGO_DSN      mongodb://user:password@host:port/?options, or mongodb+srv://
//
// and its user must be allowed to create databases. The script `up` of this
// folder starts throw-away servers (not SQL Server) and prints these variables,
// `down` stops them:
//
//	env=$(test/servers/up) && eval "$env"
//	go test ./...
//	test/servers/down
//
// Without its variable a test is skipped, except when ROWLOCK_REQUIRE, a comma
// list like "postgres,mysql,mariadb", names the server: then it fails.
//
// The package is for tests. It may import the database drivers and must not
// know any package of Rowlock.
package servers
