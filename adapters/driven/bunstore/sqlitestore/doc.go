// Package sqlitestore is the job store on SQLite: the dialect, one writer that
// groups what waits into one transaction, and a read-only pool beside it.
//
// It may import domain, ports/driven, migrations, bunstore, bun and the pure-Go
// driver, and must not know a sibling store, nor who calls it.
package sqlitestore
