// Package cli is the command line: it reads flags, environment and files, asks
// the driving ports, and prints tables for people or one JSON document for programs.
//
// Standard output carries the answer alone; logs, progress and errors go to
// standard error. The exit code follows the fault's code (exit.go). Every flag
// has an environment twin (env.go).
//
// It may import domain, ports/driving and the two libraries for commands and
// tables, and must not know which store is behind the ports or how it is opened:
// Config.Open does that.
package cli
