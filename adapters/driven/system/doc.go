// Package system gives what the machine and the process have: the wall clock,
// identifiers and the bell that wakes runners of the same process.
//
// It may import domain, ports/driven and google/uuid, and must not know any
// store. It is the only place of the project that calls time.Now.
package system
