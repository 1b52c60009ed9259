// Package mysqlstore is the job store on MySQL 8 and MariaDB 10.6 or later: the
// dialect, the claim that skips what others hold, and the form of it for servers
// that cannot.
//
// It may import domain, ports/driven, migrations, bunstore, bun and the driver,
// and must not know a sibling store, nor who calls it.
package mysqlstore
