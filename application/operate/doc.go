// Package operate is the operator's hand: retry, cancel, delete and reschedule
// jobs, named ones or every one that matches a filter; look at bounds and release
// chains.
//
// It may import domain and the ports and must not know which store it changes,
// who asks, or any sibling of the application. A tenant in the context limits
// every call to that tenant's jobs.
package operate
