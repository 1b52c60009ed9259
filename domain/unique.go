package domain

import (
	"fmt"
	"strconv"
	"time"
)

// OnConflict says what an enqueue does when its unique key is held.
type OnConflict uint8

// The policies. Each is one transaction with its insert; a holder that runs or is
// terminal is never touched, but answered as Existing.
const (
	Skip       OnConflict = iota // answer Existing with the holder's id; nothing is written
	Error                        // a Conflict fault naming the holder; nothing of the call is written
	Replace                      // a waiting holder becomes the new job, under its own id
	Reschedule                   // a waiting holder is due when the new job would be
	onConflicts
)

var onConflictNames = [onConflicts]string{"skip", "error", "replace", "reschedule"}

// String is the policy's word.
func (c OnConflict) String() string {
	if c < onConflicts {
		return onConflictNames[c]
	}
	return "unknown"
}

// ParseOnConflict reads a policy's word.
func ParseOnConflict(name string) (OnConflict, error) {
	for i, known := range onConflictNames {
		if name == known {
			return OnConflict(i), nil
		}
	}
	return 0, &Fault{Code: Invalid, Op: "parse conflict policy", Subject: CleanText(name, 80), Hint: "the policies are skip, error, replace, reschedule"}
}

// Unique makes a job the only one of its key and tenant: until it is terminal or,
// with a window, for as long as its row is there.
type Unique struct {
	Key        string
	OnConflict OnConflict
	// Window is the length of the buckets that time is cut into, from the epoch on:
	// one job of the key in each; 0: there are none. Bucket is the number of the one
	// that the job is in, as UniqueFor counts it.
	Window time.Duration
	Bucket int64
}

// The shortest and the longest window, in whole seconds, so that a lock has room for it.
const (
	MinUniqueWindow = time.Second
	MaxUniqueWindow = 10 * 365 * 24 * time.Hour
)

// UniqueFor is a unique key of the window in which the moment lies.
func UniqueFor(key string, window time.Duration, now time.Time) Unique {
	seconds := int64(max(window, MinUniqueWindow) / time.Second)
	return Unique{Key: key, Window: window, Bucket: max(now.Unix(), 0) / seconds}
}

// Validate refuses keys and windows that no store can hold.
func (u Unique) Validate() error {
	if err := ValidateName("unique key", u.Key, MaxKey); err != nil {
		return err
	}
	hint := ""
	switch {
	case u.OnConflict >= onConflicts:
		hint = "the conflict policies are skip, error, replace, reschedule"
	case u.Window == 0 && u.Bucket == 0:
		return nil
	case u.Window < MinUniqueWindow || u.Window > MaxUniqueWindow || u.Window%time.Second != 0:
		hint = fmt.Sprintf("the window is %v, it must be whole seconds from %v to %v", u.Window, MinUniqueWindow, MaxUniqueWindow)
	case u.Bucket < 0 || u.Bucket > maxMoment.Unix()/int64(u.Window/time.Second):
		hint = "the bucket lies outside 1970 to 9999"
	default:
		return nil
	}
	return &Fault{Code: Invalid, Op: "check unique key", Subject: CleanText(u.Key, 80), Hint: hint}
}

// Lock is what the unique index holds for the key of a tenant, so that no two keys
// share one: the length of the tenant's name keeps the border between the two. One
// of a window stays held when the job is terminal.
func (u Unique) Lock(tenant string) string {
	if u.Window == 0 {
		return UniqueLock(tenant, u.Key)
	}
	short := func(n int64) string { return strconv.FormatInt(n, 36) }
	return string(windowLetter) + short(int64(u.Window/time.Second)) + "." + short(u.Bucket) + ":" + strconv.Itoa(len(tenant)) + ":" + tenant + u.Key
}

// windowLetter begins the locks that stay held when their job is terminal.
const windowLetter = 'w'

// KeptLock says whether a lock stays held when its job is terminal: one of a window.
func KeptLock(lock string) bool { return lock != "" && lock[0] == windowLetter }

// UniqueLock is the lock of a key without a window.
func UniqueLock(tenant, key string) string {
	return "u" + strconv.Itoa(len(tenant)) + ":" + tenant + key
}
