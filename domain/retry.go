package domain

import (
	"fmt"
	"math"
	"time"
)

// RetryPolicy says how long a failed job waits and how often it is tried.
type RetryPolicy struct {
	Base        time.Duration // the first wait
	Factor      float64       // each next wait is that much longer
	Jitter      float64       // part of the wait that is random, 0 to 1, to either side
	Cap         time.Duration // the longest wait
	MaxAttempts int           // attempts in all
}

// DefaultRetry waits about 5 s, 20 s, 80 s and 320 s, five attempts in all.
func DefaultRetry() RetryPolicy {
	return RetryPolicy{Base: 5 * time.Second, Factor: 4, Jitter: 0.15, Cap: time.Hour, MaxAttempts: 5}
}

// Validate refuses a policy that cannot be followed.
func (p RetryPolicy) Validate() error {
	hint := ""
	switch {
	case p.Base < time.Millisecond || p.Base > MaxDelay:
		hint = fmt.Sprintf("Base is %v, it must be from 1ms to %v", p.Base, MaxDelay)
	case p.Factor < 1 || math.IsNaN(p.Factor) || math.IsInf(p.Factor, 0):
		hint = fmt.Sprintf("Factor is %v, it must be 1 or more", p.Factor)
	case p.Jitter < 0 || p.Jitter >= 1 || math.IsNaN(p.Jitter):
		hint = fmt.Sprintf("Jitter is %v, it must be from 0 to below 1", p.Jitter)
	case p.Cap < p.Base || p.Cap > MaxDelay:
		hint = fmt.Sprintf("Cap is %v, it must be at least Base and at most %v", p.Cap, MaxDelay)
	case p.MaxAttempts < 1 || p.MaxAttempts > MaxMaxAttempts:
		hint = fmt.Sprintf("MaxAttempts is %d, it must be from 1 to %d", p.MaxAttempts, MaxMaxAttempts)
	default:
		return nil
	}
	return &Fault{Code: Invalid, Op: "check retry policy", Hint: hint}
}

// Delay is the wait after the n-th failed attempt (1 is the first); random is
// from 0 to below 1. It is positive, at most Cap, and for one random value never
// falls as n rises.
func (p RetryPolicy) Delay(attempt int, random float64) time.Duration {
	wait := float64(p.Base) * math.Pow(p.Factor, float64(max(attempt, 1)-1))
	wait = min(wait, float64(p.Cap)) * (1 + p.Jitter*(2*random-1))
	if !(wait < float64(p.Cap)) { // so that neither rounding nor NaN leads past the cap
		return ClampDelay(p.Cap)
	}
	return ClampDelay(time.Duration(wait))
}

// ClampDelay brings any wait into the range that every store can keep: 1 ms to MaxDelay.
func ClampDelay(d time.Duration) time.Duration {
	return min(max(d, time.Millisecond), MaxDelay)
}

// StallPolicy says what becomes of claims whose lease ran out. Stalls are
// counted apart from attempts.
type StallPolicy struct {
	Base time.Duration // the wait after the first stall in a row; each next is twice as long
	Cap  time.Duration // the longest wait
	Max  int           // stalls in a row that are put back; one more and the job is dead
}

// DefaultStalls waits 30 s, 60 s and 120 s and buries at the fourth stall in a row.
func DefaultStalls() StallPolicy {
	return StallPolicy{Base: 30 * time.Second, Cap: time.Hour, Max: 3}
}

// Delay is the wait after the n-th stall in a row (1 is the first).
func (p StallPolicy) Delay(stalls int) time.Duration {
	d, most := p.Base, min(p.Cap, MaxDelay)
	for i := 1; i < stalls && d > 0 && d < most; i++ {
		d *= 2
	}
	return ClampDelay(min(d, most))
}

// Next is what becomes of a claim whose lease ran out, given the stalls in a row before it.
func (p StallPolicy) Next(stalls int) (to State, after time.Duration) {
	if stalls >= p.Max {
		return Dead, 0
	}
	return Scheduled, p.Delay(stalls + 1)
}
