// Package memstore is a whole job store in the memory of one process, for tests
// and for trying out.
//
// It behaves as the ports say, so what passes on it passes on a database; what
// it lacks is life after the process. One mutex makes each method one
// transaction. What goes in and out is copied: no caller shares memory with it.
//
// It may import domain and ports/driven only, and must not know any other
// adapter, nor the wall clock: its clock comes with Config.
package memstore
