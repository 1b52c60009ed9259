// Package backends opens a store by its DSN. It is the one place that links
// every store.
//
// It may import the adapters and everything inward, and must not be imported by
// anything but bootstrap/rowlock and the command line.
package backends
