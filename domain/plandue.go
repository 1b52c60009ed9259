package domain

import (
	"slices"
	"time"
)

// due are the ticks that have come.
type due struct {
	last  []time.Time // the latest, the oldest of them first; one at least
	count int64
	more  bool // there are more than were counted
}

// due finds the ticks from the first one, which has come, up to now.
func (t *ticks) due(first, now time.Time, keep int) due {
	if t.every > 0 {
		return t.intervals(first, now, keep)
	}
	ring := make([]time.Time, keep) // the last ones, each in the place of the one keep before it
	ring[0] = first
	d := due{count: 1}
	for at := first; ; d.count++ {
		next, ok := t.next(at)
		if !ok || next.After(now) {
			break
		}
		if d.count == maxDue {
			d.more, d.last = true, t.latest(next, now, keep)
			return d
		}
		ring[int(d.count)%keep] = next
		at = next
	}
	if n := int(d.count); n < keep {
		d.last = ring[:n]
	} else {
		d.last = slices.Concat(ring[n%keep:], ring[:n%keep])
	}
	return d
}

// intervals are counted by a division.
func (t *ticks) intervals(first, now time.Time, keep int) due {
	from, to := first.UnixMilli()/t.every, now.UnixMilli()/t.every
	d := due{count: 1 + to - from}
	for n := max(to-int64(keep), from) + 1; n <= to; n++ {
		d.last = append(d.last, time.UnixMilli(n*t.every).UTC())
	}
	if len(d.last) < keep {
		d.last = append([]time.Time{first}, d.last...)
	}
	return d
}

// latest are the last ticks up to now, where there are too many to count: the last one
// by halving, those before it by looking further and further back, as far as the bound
// allows.
func (t *ticks) latest(first, now time.Time, keep int) []time.Time {
	low, high := first.Add(-time.Second), now.Truncate(time.Second)
	for high.Sub(low) > time.Second {
		middle := low.Add(high.Sub(low) / 2).Truncate(time.Second)
		if next, ok := t.next(middle); ok && !next.After(now) {
			low = middle
		} else {
			high = middle
		}
	}
	found := []time.Time{high}
	budget := maxDue
	for back := time.Duration(keep) * time.Second; len(found) < keep && back < 2*min(high.Sub(first), MaxDelay); back *= 2 {
		longer := t.between(high.Add(-back), high, &budget)
		if longer == nil {
			break
		}
		found = longer
	}
	return found[max(0, len(found)-keep):]
}

// between are the ticks after a moment, up to another; nil where the budget ends.
func (t *ticks) between(after, until time.Time, budget *int) (all []time.Time) {
	for {
		next, ok := t.next(after)
		if !ok || next.After(until) {
			return all
		}
		if *budget--; *budget < 0 {
			return nil
		}
		all, after = append(all, next), next
	}
}
