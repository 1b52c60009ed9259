package domain

import "time"

// Limits in bytes of UTF-8. They hold at every door and on every store; what is
// over one of them is refused, never cut.
const (
	MaxKind   = 120
	MaxQueue  = 120
	MaxTenant = 190
	MaxKey    = 190 // a unique or mutex key
	MaxTag    = 190
	MaxGroup  = 190       // a limit's or rate's group
	MaxBound  = 400       // a stored key of a bound
	MaxKeys   = 100       // mutex or chain keys of a job
	MaxSlots  = 10_000    // what a limit or rate may allow
	MaxTags   = 32        // tags a job
	MaxMeta   = 16 << 10  // metadata, as JSON text
	MaxArgs   = 512 << 10 // args, as JSON text
	MaxResult = 64 << 10  // result, as JSON text
	MaxDepth  = 100       // nesting of args, result and metadata
	MaxBatch  = 190       // a batch's name
	MaxSched  = 190       // a schedule's name

	maxDerived = 4 << 20 // args that Rowlock makes around others
)

// Bounds of recorded text, in bytes. Longer text is cut on a rune border by CleanText.
const (
	MaxMessage = 4 << 10 // one error message
	MaxStack   = 8 << 10 // one stack
	MaxRunner  = 190     // a runner's name
	MaxHistory = 10      // entries of a job's history
)

// Bounds of numbers.
const (
	MinPriority    = -1 << 15
	MaxPriority    = 1<<15 - 1
	MaxMaxAttempts = 10_000
	MaxDelay       = 100 * 365 * 24 * time.Hour // the longest delay, timeout or retention
)

// The moments that Rowlock stores: every database keeps them exactly.
var (
	minMoment = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	maxMoment = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
)
