// Package inspect is the operator's eye: one job, pages of jobs, counts, and the
// state of the queues with who works them.
//
// It may import domain and the ports and must not know which store it reads,
// who asks, or any sibling of the application. Nothing it does runs without a
// bound: pages and counts are capped, a search ends after a time. A tenant in
// the context limits every call to that tenant's jobs.
package inspect
