package domain

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// BoundSort says what a bound allows.
type BoundSort uint8

// The sorts. Their letter leads every stored key, so that keys of two sorts never meet.
const (
	BoundLimit BoundSort = iota // N jobs at once
	BoundRate                   // N starts in a window
	BoundMutex                  // one job at once, due jobs in turn
	BoundChain                  // one job at once, the next when the one before is settled for good
	boundSorts
)

const boundLetters = "lrmc"

var boundNames = [boundSorts]string{"limit", "rate", "mutex", "chain"}

// String is the sort's word.
func (s BoundSort) String() string {
	if s < boundSorts {
		return boundNames[s]
	}
	return "unknown"
}

// MarshalText gives the sort's word.
func (s BoundSort) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Turns says whether jobs have turns at a bound of this sort.
func (s BoundSort) Turns() bool { return s == BoundMutex || s == BoundChain }

// letter is how stored keys of the sort begin.
func (s BoundSort) letter() string { return boundLetters[s : s+1] }

// Declaration is what a kind declares of a limit or rate. A store keeps the newest
// one of each kind and sort.
type Declaration struct {
	Kind   string
	Sort   BoundSort     // BoundLimit or BoundRate
	Group  string        // shared by the kinds that name it
	N      int           // jobs at once, or starts a window; 0: the kind declares none any more
	Window time.Duration // of a rate
	At     time.Time     // when it was stored
}

// Validate refuses what no store can hold to. A group has no ':' in it, for that
// ends its name in a stored key.
func (d Declaration) Validate() error {
	if err := ValidateName("kind", d.Kind, MaxKind); err != nil {
		return err
	}
	if err := ValidateName("group", d.Group, MaxGroup); err != nil {
		return err
	}
	hint := ""
	switch {
	case d.Sort != BoundLimit && d.Sort != BoundRate:
		hint = "a kind declares limits and rates; turns are asked for by jobs"
	case strings.Contains(d.Group, ":"):
		hint = "the group's name must have no ':'"
	case d.N < 1 || d.N > MaxSlots:
		hint = fmt.Sprintf("N is %d, it must be from 1 to %d", d.N, MaxSlots)
	case d.Sort == BoundRate && (d.Window < time.Millisecond || d.Window > MaxDelay):
		hint = fmt.Sprintf("the window is %v, it must be from 1ms to %v", d.Window, MaxDelay)
	default:
		return nil
	}
	return &Fault{Code: Invalid, Op: "check " + d.Sort.String(), Subject: CleanText(d.Group, 80), Hint: hint}
}

// Same says whether two declarations hold jobs to the same thing.
func (d Declaration) Same(o Declaration) bool {
	d.At, o.At = time.Time{}, time.Time{}
	return d == o
}

// Key is the stored key of a bound that the declaration makes; own is "" for the
// group's own bucket.
func (d Declaration) Key(own string) string {
	return d.Sort.letter() + ":" + d.Group + ":" + own
}

// Covers says whether a stored key is one of the declaration's group.
func (d Declaration) Covers(key string) bool {
	return strings.HasPrefix(key, d.Sort.letter()+":"+d.Group+":")
}

// Range is where the stored keys of the declaration's group lie in byte order, from low
// up to before high.
func (d Declaration) Range() (low, high string) {
	low = d.Key("")
	return low, strings.TrimSuffix(low, ":") + ";" // which follows ':'
}

// Turn says whether, and how, a job takes turns at its keys.
type Turn uint8

// The turns. The numbers are stored: they never change.
const (
	NoTurn    Turn = 0
	TurnMutex Turn = 1 // one at once, due jobs in the order of (due, id); one that backs off steps aside
	TurnChain Turn = 2 // strictly in the order of (due, id) as enqueued: a retry keeps the place
)

// Sort is the sort of the keys.
func (t Turn) Sort() BoundSort {
	if t == TurnChain {
		return BoundChain
	}
	return BoundMutex
}

// OnDead says what a dead job does to its chains.
type OnDead uint8

// The choices. The numbers are stored: they never change.
const (
	Continue OnDead = 0 // the next one starts
	Block    OnDead = 1 // the chain stands still until the job is retried or deleted (by retention too), or an operator releases the chain
)

// String is the choice's word.
func (o OnDead) String() string {
	if o == Block {
		return "block"
	}
	return "continue"
}

// TurnKey is the stored key of a turn: scoped by its tenant, so that tenants never
// wait for each other. The length in front keeps the border between the two.
func TurnKey(t Turn, tenant, key string) string {
	return t.Sort().letter() + strconv.Itoa(len(tenant)) + ":" + tenant + key
}

// BoundKey is a stored key taken apart.
type BoundKey struct {
	Sort   BoundSort
	Group  string // of a limit or rate
	Tenant string // of a turn
	Key    string // "" is a group's own bucket
}

// ParseBoundKey takes a stored key apart; false for what is none.
func ParseBoundKey(stored string) (k BoundKey, ok bool) {
	head, rest, found := strings.Cut(stored, ":")
	if !found || head == "" {
		return BoundKey{}, false
	}
	sort := strings.IndexByte(boundLetters, head[0])
	if sort < 0 {
		return BoundKey{}, false
	}
	k.Sort = BoundSort(sort)
	if !k.Sort.Turns() {
		k.Group, k.Key, found = strings.Cut(rest, ":")
		return k, found && len(head) == 1
	}
	n, err := strconv.Atoi(head[1:])
	if err != nil || n < 0 || n > len(rest) || head[1:] != strconv.Itoa(n) {
		return BoundKey{}, false
	}
	k.Tenant, k.Key = rest[:n], rest[n:]
	return k, true
}
