package domain

import (
	"cmp"
	"slices"
	"time"
)

// Place is a job's place in the turns at its keys, the least first.
type Place struct {
	Due int64 // as stored
	ID  JobID
}

// Compare orders places.
func (p Place) Compare(o Place) int { return cmp.Or(cmp.Compare(p.Due, o.Due), p.ID.Compare(o.ID)) }

// Applicant is a claimed job that asks for all its bounds.
type Applicant struct {
	ID    JobID
	Due   int64    // its place is (Due, ID); of a job without turns it does not matter
	Keys  []string // stored keys of all its bounds
	Slots []Slot   // what it asks for, once Plan was called
	Lacks string   // the first key that it lacks; "" : none so far
}

// Bounds are the limits and rates of a number of applicants by their stored keys,
// with what is known of each.
type Bounds map[string]*Bound

// Bound is what is known of one key.
type Bound struct {
	N      int           // what it allows
	Window time.Duration // of a rate
	Taken  []int         // slots that are taken, as read without a lock
}

// Plan chooses a slot of each of its keys for each applicant, in their order, or
// says which key it lacks. Of those that want the same turn only the first in
// place asks. A key that is not among the bounds allows one; shift is as in
// FreeSlots.
func (b Bounds) Plan(all []Applicant, shift int) {
	first := firsts(all)
	free := make(map[string][]int)
	for i := range all {
		a := &all[i]
		slices.Sort(a.Keys)
		a.Keys = slices.Compact(a.Keys)
		for _, key := range a.Keys {
			if _, known := free[key]; !known {
				free[key] = b.free(key, len(all), shift)
			}
			if who, turn := first[key]; len(free[key]) == 0 || turn && who != (Place{a.Due, a.ID}) {
				a.Lacks = key
				break
			}
		}
		if a.Lacks != "" {
			continue
		}
		for _, key := range a.Keys {
			a.Slots = append(a.Slots, Slot{key, free[key][0]})
			free[key] = free[key][1:]
		}
	}
}

func (b Bounds) free(key string, want, shift int) []int {
	if at := b[key]; at != nil {
		return FreeSlots(at.N, at.Taken, want, shift)
	}
	return []int{0}
}

// firsts are the first in place of each turn.
func firsts(all []Applicant) map[string]Place {
	first := make(map[string]Place)
	for i := range all {
		place := Place{all[i].Due, all[i].ID}
		for _, key := range all[i].Keys {
			if k, ok := ParseBoundKey(key); !ok || !k.Sort.Turns() {
				continue
			}
			if best, ok := first[key]; !ok || place.Compare(best) < 0 {
				first[key] = place
			}
		}
	}
	return first
}

// JudgeApplicants says which applicants lack a key after all: a slot that another was faster
// to take, or a turn that is another's. won says who holds each slot now; heads whose
// turn it is at each key, read while the slot was held.
func JudgeApplicants(all []Applicant, won map[Slot]JobID, heads map[string]JobID) {
	for i := range all {
		a := &all[i]
		for _, s := range a.Slots {
			k, _ := ParseBoundKey(s.Key)
			if won[s] != a.ID || k.Sort.Turns() && heads[s.Key] != a.ID {
				a.Lacks = s.Key
				break
			}
		}
	}
}
