// Package faults breaks a database below an adapter, so that a kill between two
// statements is a real one.
//
// Wrap puts a Plan between database/sql and a driver. The plan counts what goes
// to the database (each Exec, Query, Prepare, run of a prepared statement,
// Begin, Commit and Rollback is one step) and strikes before or after the n-th:
//
//	plan := faults.NewPlan()
//	db := sql.OpenDB(faults.Wrap(connector, plan))
//	settle()                                        // once in peace, to learn
//	for n := 1; n <= plan.Count(); n++ { ... }      // then once for each step:
//	plan.Reset()
//	plan.At(n, faults.After, faults.Cut())
//
// Dialer puts a plan between a MongoDB driver and the network, where each command
// is one step.
//
// It may import the standard library only, and must not know any adapter.
package faults
