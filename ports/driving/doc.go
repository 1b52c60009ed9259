// Package driving says what the world may ask of Rowlock: small roles that the
// command line, an HTTP API or a test can be written against.
//
// It may import domain only and must not know the driven side, database/sql,
// the network or any third party. Errors are *domain.Fault. All roles are safe
// for concurrent use. A tenant in the context (domain.WithTenant) limits every
// call to its jobs.
package driving
