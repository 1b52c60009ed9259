// Package work is how a host says what shall be done: typed handlers of kinds,
// their options, middleware, and the outcomes a handler may ask for.
//
// It may import domain and ports only and must not know who stores a job, who
// runs it, or that it can be enqueued.
package work
