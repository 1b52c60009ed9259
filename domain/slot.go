package domain

import (
	"cmp"
	"slices"
	"time"
)

// Slot is one permit of a bound: the bound's stored key and a number below what
// the bound allows. Its row is the permit: one holder or none.
type Slot struct {
	Key   string
	Index int
}

// Compare orders slots by key, in bytes, and by number within one.
func (s Slot) Compare(other Slot) int {
	return cmp.Or(cmp.Compare(s.Key, other.Key), cmp.Compare(s.Index, other.Index))
}

// HeldSlot is a slot that an admitted job holds.
type HeldSlot struct {
	Slot
	Window time.Duration // of a rate: how long the slot stays taken after the handler's start
}

// SlotEnd gives a slot back: it stays taken for After longer, by the store's clock.
type SlotEnd struct {
	Slot
	After time.Duration
}

// Holder is a taken slot as an operator sees it.
type Holder struct {
	Slot
	Job    JobID         // zero where the slot is only kept from others for a while
	Runner string        // of the claim that took it, while the job's row still says it
	Over   bool          // that claim is over: its handler runs on, its runner passed the slot to another job, or nobody has it
	Since  time.Time     // when it was taken or, where it is only kept, given back
	Left   time.Duration // how long it stays taken though its claim is over; whoever uses it prolongs that
}

// Chain is a chain that a dead job blocks.
type Chain struct {
	Key string // as stored
	Job JobID
}

// FreeSlots lists the slots of a key that may be taken together, at most want of
// them, given the numbers that are taken. A slot may be taken only if it and all
// taken ones above it fit: index + taken above < n. So with a lowered n nothing
// starts until fewer than n are held, though nobody counts under a lock: of the
// slots that were ever taken under n let m be the highest that is held now. Those
// above it were all there when m was taken, so the held are at most
// m + 1 + n - 1 - m = n.
//
// While no slot at or above n is taken that holds for every free one, and the list
// begins at shift, so that callers who do not see each other seldom want the same.
func FreeSlots(n int, taken []int, want, shift int) []int {
	taken = slices.Compact(slices.Sorted(slices.Values(taken)))
	first := 0
	if len(taken) == 0 || taken[len(taken)-1] < n {
		first = shift % max(n, 1)
	}
	var free []int
	for i := 0; i < n && len(free) < want; i++ {
		slot := (first + i) % n
		below, held := slices.BinarySearch(taken, slot)
		if !held && slot+len(taken)-below < n {
			free = append(free, slot)
		}
	}
	return free
}
