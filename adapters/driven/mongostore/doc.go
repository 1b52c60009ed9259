// Package mongostore keeps jobs in MongoDB, by the official driver. A job is one
// document with the names of the SQL columns; what is empty is absent.
//
// Every decision is one guarded write of one document (its filter carries state
// and token), so a stand-alone server will do: there is no transaction to lose
// half of. Where `hello` names a replica set, bulk inserts and ticks of schedules are
// transactions, and Session writes in the host's own. A job's turns are fields of its
// document, and the permits of bounds are documents of their own: admit.go says why
// that is exact, join.go and finish.go the same of batches, failure.go and advance.go
// of jobs that Rowlock adds by itself.
//
// It may import domain, ports/driven, migrations and the driver, and must not
// know the application.
package mongostore
