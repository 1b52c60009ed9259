// Package e2e runs the built command line as a user does: real processes on real
// files, killed, stopped and resumed, against a web server of the test's.
//
// It may import everything, and knows the binary by what it prints alone.
package e2e
