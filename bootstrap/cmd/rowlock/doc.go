// Command rowlock is the command line, put together: it opens the store that
// --store names, gives the services to adapters/driving/cli, and holds what only
// a whole Rowlock can do, the demo (tour*.go) and the measurement (bench*.go).
//
// It may import everything inward and is imported by nothing.
package main
