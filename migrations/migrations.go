package migrations

import (
	"embed"
	"io/fs"
)

//go:embed sqlite/*.sql
var sqliteFiles embed.FS

// SQLite are the steps for SQLite.
func SQLite() fs.FS { return sub(sqliteFiles, "sqlite") }

//go:embed postgres/*.sql
var postgresFiles embed.FS

// Postgres are the steps for PostgreSQL.
func Postgres() fs.FS { return sub(postgresFiles, "postgres") }

//go:embed mysql/*.sql
var mysqlFiles embed.FS

// MySQL are the steps for MySQL and MariaDB.
func MySQL() fs.FS { return sub(mysqlFiles, "mysql") }

//go:embed mssql/*.sql
var mssqlFiles embed.FS

// MSSQL are the steps for SQL Server.
func MSSQL() fs.FS { return sub(mssqlFiles, "mssql") }

// sub is a folder of embedded files, which is there or the build fails.
func sub(files embed.FS, folder string) fs.FS {
	in, err := fs.Sub(files, folder)
	if err != nil {
		return files
	}
	return in
}
