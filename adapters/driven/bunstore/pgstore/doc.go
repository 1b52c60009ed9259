// Package pgstore is the job store on PostgreSQL: the dialect, its claim, and an
// engine over any pool that leaves single statements to autocommit and keeps no
// state in a session, so that a pooler in transaction mode may stand between.
//
// It may import domain, ports/driven, migrations, bunstore, bun and pgx, and must
// not know a sibling store, nor who calls it.
package pgstore
