// Package bunstore is the job store on SQL, for every database that has a
// Dialect: it holds the life of a row once, and leaves to a dialect only how a
// database says it.
//
// It may import domain, ports/driven, migrations and bun, and must not know a
// driver, nor who calls it. Ordinary queries are built with bun, hot statements
// are written by hand; both run through database/sql with every value of a user
// bound. bun.DB and bun.Tx themselves write values into the text, so none of
// them ever runs a statement here.
//
// To add a database: one package below this one with a Dialect, an Engine (most
// take NewPool), claim.go for what locks and errors.go for the typed codes.
package bunstore
