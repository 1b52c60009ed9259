// Package migrations holds the steps of every database's schema: the same numbers
// in each, as files NNNN_name.up.sql and NNNN_name.down.sql, or as data where a
// database has no statements.
//
// It may import the standard library only and must not know who applies a step.
// How a file is cut into statements is written in
// adapters/driven/bunstore/steps.go.
package migrations
