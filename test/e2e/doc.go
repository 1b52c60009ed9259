// Package e2e runs the built command line as a user does, on every store there is:
// real processes on files and servers, killed, stopped, resumed and cut off, against
// a web server of the test's. stores_test.go has the table of stores.
//
// It may import everything, and knows the binary by what it prints alone.
package e2e
