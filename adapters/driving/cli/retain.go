package cli

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/domain"
)

// retainer is the flags of a runner about old jobs.
type retainer struct {
	states []string
	w      *WorkSettings
}

func (r *retainer) flags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&r.states, "retain", nil, "how long ended jobs stay that do not say so: `done=7d,cancelled=1h,dead=forever` (default: a day, a day, forever)")
	flags.BoolVar(&r.w.NoPrune, "no-prune", false, "leave the removal of old jobs to others")
	flags.DurationVar(&r.w.PruneEvery, "prune-every", 5*time.Minute, "how often old jobs are removed")
}

// read reads "done=7d": how long jobs in that state stay.
func (r *retainer) read() error {
	for _, item := range r.states {
		name, text, _ := strings.Cut(item, "=")
		span, err := keep(text)
		if err != nil {
			return invalid("read flags", "--retain", err.Error())
		}
		switch strings.TrimSpace(name) {
		case domain.Done.String():
			r.w.Keep.Done = span
		case domain.Dead.String():
			r.w.Keep.Dead = span
		case domain.Cancelled.String():
			r.w.Keep.Cancelled = span
		default:
			return invalid("read flags", "--retain", "the states of ended jobs are done, dead and cancelled")
		}
	}
	return r.w.Keep.Validate()
}
