// Package driven says what Rowlock needs from the outside: a store, ids, a
// clock, an observer, a way to wake others.
//
// It may import domain only and must not know database/sql, the network or any
// third party. Three laws rest on it (docs/adr/0001-three-rules.md):
//
//   - A method is one transaction, hence one unit of retry. On a store without
//     transactions it is one guarded document write (the decision) followed by
//     writes that a sweep can redo.
//   - Requests carry durations, never now: the store writes now + duration and
//     judges expiry by its own clock, inside the statement.
//   - A capability is a non-nil field of Backend.
//
// Every "must" here names the case of test/conformance that shows it.
package driven
