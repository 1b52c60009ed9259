package domain

import (
	"cmp"
	"fmt"
	"time"
)

// Retention says how long a job's row stays once it is terminal: 0 is the
// runner's default, negative is for ever.
type Retention struct {
	Done, Dead, Cancelled time.Duration
}

// KeepForever in a Retention keeps the row until an operator deletes it.
const KeepForever time.Duration = -1

// DefaultRetention keeps done and cancelled jobs for a day and dead ones for ever.
func DefaultRetention() Retention {
	return Retention{Done: 24 * time.Hour, Dead: KeepForever, Cancelled: 24 * time.Hour}
}

// For is how long a row in that terminal state stays, its own wish before the default.
func (r Retention) For(state State, def Retention) time.Duration {
	var own, other time.Duration
	switch state {
	case Dead:
		own, other = r.Dead, def.Dead
	case Cancelled:
		own, other = r.Cancelled, def.Cancelled
	default:
		own, other = r.Done, def.Done
	}
	if own == 0 {
		return other
	}
	return own
}

// Validate refuses spans that no store can keep.
func (r Retention) Validate() error {
	for _, d := range []time.Duration{r.Done, r.Dead, r.Cancelled} {
		if d > MaxDelay || (d > 0 && d < time.Millisecond) {
			return &Fault{Code: Invalid, Op: "check retention", Subject: d.String(), Hint: fmt.Sprintf("give 1ms to %v, a negative span for ever, or 0 for the default", MaxDelay)}
		}
	}
	return nil
}

// Cover is the retention of a row that holds the key of a window: at least as long
// as the window, also where the default is shorter.
func (r Retention) Cover(window time.Duration) Retention {
	def := DefaultRetention()
	one := func(own, def time.Duration) time.Duration {
		if own = cmp.Or(own, def); own < 0 {
			return own
		}
		return max(own, window)
	}
	return Retention{Done: one(r.Done, def.Done), Dead: one(r.Dead, def.Dead), Cancelled: one(r.Cancelled, def.Cancelled)}
}
