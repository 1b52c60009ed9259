package cli

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/domain"
)

// chooser is the flags that choose jobs.
type chooser struct {
	states       []string
	queue, kind  string
	tag, err     string
	batch        string
	since, until string
}

// flags declares them; without states where the command has its own.
func (c *chooser) flags(flags *pflag.FlagSet, withStates bool) {
	if withStates {
		flags.StringSliceVar(&c.states, "state", nil, "of these `states`: "+stateNames())
	}
	flags.StringVar(&c.queue, "queue", "", "of this queue")
	flags.StringVar(&c.kind, "kind", "", "of this kind")
	flags.StringVar(&c.tag, "tag", "", "with this tag")
	flags.StringVar(&c.batch, "batch", "", "members of the batch of this `ID`")
	flags.StringVar(&c.err, "error", "", "whose last error holds this `text`")
	flags.StringVar(&c.since, "since", "", "enqueued since a `moment`, or a time ago like 2h")
	flags.StringVar(&c.until, "until", "", "enqueued before a `moment`, or a time ago")
}

func stateNames() string {
	var names []string
	for _, state := range domain.States() {
		names = append(names, state.String())
	}
	return strings.Join(names, ", ")
}

// filter reads the flags; states is what no --state means.
func (c *chooser) filter(now func() time.Time, states ...domain.State) (f domain.Filter, err error) {
	f = domain.Filter{States: states, Queue: c.queue, Kind: c.kind, Tag: c.tag, Error: c.err}
	if len(c.states) > 0 {
		f.States = nil
	}
	for _, name := range c.states {
		state, err := domain.ParseState(strings.TrimSpace(name))
		if err != nil {
			return f, err
		}
		f.States = append(f.States, state)
	}
	if c.batch != "" {
		if f.Batch, err = domain.ParseBatchID(c.batch); err != nil {
			return f, err
		}
	}
	if f.Since, err = readSince("--since", c.since, now); err != nil {
		return f, err
	}
	f.Until, err = readSince("--until", c.until, now)
	return f, err
}

// narrow says whether more than states was chosen.
func (c *chooser) narrow() bool {
	return len(c.states) > 0 || c.queue != "" || c.kind != "" || c.tag != "" || c.batch != "" || c.err != "" || c.since != "" || c.until != ""
}

// readSince reads a moment, or how long ago it was.
func readSince(flag, text string, now func() time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := readMoment(text); err == nil {
		return at, nil
	}
	ago, err := domain.ParseSpan(text)
	if err != nil || ago < 0 {
		return time.Time{}, invalid("read flags", flag, "give a moment like 2026-01-31T09:00:00Z, or how long ago, like 2h or 7d")
	}
	return now().Add(-ago), nil
}
