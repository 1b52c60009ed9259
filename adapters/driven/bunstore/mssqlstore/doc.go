// Package mssqlstore is the job store on SQL Server 2019 and later and on Azure
// SQL Database: the dialect, its claim, and an engine over any pool of
// go-mssqldb that leaves single statements to autocommit.
//
// It may import domain, ports/driven, migrations, bunstore, bun and the driver,
// and must not know a sibling store, nor who calls it.
package mssqlstore
