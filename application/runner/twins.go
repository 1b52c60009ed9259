package runner

import (
	"slices"

	"github.com/rowlock/rowlock/domain"
)

// write stores a batch and answers what must be tried again.
func (c *completer) write(batch []settling) (again []settling) {
	if !slices.ContainsFunc(batch, func(done settling) bool { return done.attempt.twin }) {
		return c.writePart(batch)
	}
	for _, part := range apart(batch) {
		if len(again) > 0 {
			again = append(again, part...)
			continue
		}
		again = c.writePart(part)
	}
	return again
}

// apart has no job twice in a part: a store names jobs, not claims, where it tells
// what it dropped.
func apart(batch []settling) (parts [][]settling) {
	times := make(map[domain.JobID]int, len(batch))
	for i := range batch {
		id := batch[i].attempt.claim.Job.ID
		if times[id] == len(parts) {
			parts = append(parts, nil)
		}
		parts[times[id]] = append(parts[times[id]], batch[i])
		times[id]++
	}
	return parts
}
