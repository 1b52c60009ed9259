package mongostore

import "github.com/rowlock/rowlock/ports/driven"

// Bounds of one command. A server takes 100,000 writes and 48 MB at once; these
// stay far below, so that no command holds others up and a cut costs little.
const (
	writeBound   = 1000    // documents or ids of one command
	writeBytes   = 8 << 20 // of new documents in one command
	promoteBound = 1000    // due documents that one claim makes ready
	mergeBound   = 100     // kinds of one sorted read; a server merges up to 200 index ranges
	singleBound  = 8       // documents that a claim takes one by one after lost rounds
	pairBound    = 1000    // queues, and kinds of one queue, that statistics tell apart
)

// limitsOf says what the deployment cannot do better: without transactions a
// bulk insert that is cut short is completed by the same call with the same ids.
func limitsOf(set bool) driven.Limits { return driven.Limits{AtomicBulk: set} }

// chunks cuts a list into parts that one command takes.
func chunks[T any](all []T, size func(*T) int) [][]T {
	var parts [][]T
	begin, bytes := 0, 0
	for i := range all {
		n := size(&all[i])
		if i > begin && (i-begin == writeBound || bytes+n > writeBytes) {
			parts, begin, bytes = append(parts, all[begin:i]), i, 0
		}
		bytes += n
	}
	if begin < len(all) {
		parts = append(parts, all[begin:])
	}
	return parts
}

func small[T any](*T) int { return 1 }
