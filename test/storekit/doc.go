// Package storekit is what the tests of several stores share beside the conformance
// suite: jobs and calls to set a scene with, scenes in which each statement of each
// call is lost to others, and how many statements a call may send.
package storekit
