// Package upkeep keeps the tables in order: it puts back claims whose lease ran
// out, frees slots that a crash left, wakes who waits for a bound that is free,
// finishes batches that are over, and removes rows whose retention ended. Any number of processes may do it
// at once; none leads, and nothing is lost when one dies in the middle.
//
// It may import domain and ports and must not know runners or handlers.
package upkeep
