package cli

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/domain"
)

const schedulesAddHelp = `Add a schedule: a name, the kind of its jobs and their args as JSON.

When it runs is a cron expression (five fields: minute, hour, day of month, month, weekday;
six with the second first; or @hourly, @daily, @weekly, @monthly, @yearly) on the clocks of
a zone, or an interval counted from the epoch. Where day of month and weekday both leave
something out, one of them will do. A daily schedule runs once on days when the clocks are
turned.

Ticks that no worker was there for are made up for by one job (once), by none (skip), or by
one each for the latest (all, at most --missed-max).

Durations are like 90s, 1h30m, 7d, or a number of seconds.`

// scheduleFlags is how a schedule is named on the command line.
type scheduleFlags struct {
	cron, zone, every, missed string
	max                       int
}

func (s *shell) schedulesAdd() *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use: "add NAME KIND [ARGS-JSON] --cron EXPRESSION|--every DURATION", Short: "Add a schedule", Long: schedulesAddHelp,
		Example: `  rowlock schedules add report http '{"url":"https://example.com/report"}' --cron "0 7 * * mon-fri" --zone Europe/Vienna
  rowlock schedules add ping http '{"url":"https://example.com/ping"}' --every 5m --missed skip --queue web --json`,
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 || len(args) > 3 {
			return invalid("read arguments", cmd.CommandPath(), "give a name, a kind and its args as one JSON text: quote it; see `"+cmd.CommandPath()+" --help`")
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		d, err := f.schedule(cmd.Flags(), args)
		if err != nil {
			return err
		}
		return s.with(cmd.Context(), func(ctx context.Context, app *App) error { return s.addSchedule(ctx, app, d) })
	}
	flags := cmd.Flags()
	flags.StringVar(&f.cron, "cron", "", "run by this cron `expression`")
	flags.StringVar(&f.zone, "zone", "", "whose clocks the expression goes by, e.g. Europe/Vienna (default: UTC)")
	flags.StringVar(&f.every, "every", "", "run by this `interval`, 1s or more")
	flags.StringVar(&f.missed, "missed", "once", "what becomes of missed ticks: once, skip or all")
	flags.IntVar(&f.max, "missed-max", 10, "how many jobs make up for missed ticks, with all")
	templateFlags(flags)
	return cmd
}

// templateFlags are the flags of a job that Rowlock adds by itself.
func templateFlags(flags *pflag.FlagSet) {
	flags.String("queue", "", "the `queue` (default \"default\")")
	flags.Int("priority", 0, "lower runs first")
	flags.Int("max-attempts", 0, "how often a job is tried in all (default: the runner's)")
	flags.String("timeout", "", "how long one attempt may take (default: the runner's)")
	flags.String("failure-kind", "", "the `kind` of the job that is added when one dies")
	flags.StringArray("tag", nil, "a `tag`; may be repeated")
	flags.String("meta", "", "a JSON object that goes with the jobs")
	flags.String("keep-done", "", "how long a row stays once done, or forever")
	flags.String("keep-dead", "", "how long a row stays once dead, or forever")
	flags.String("keep-cancelled", "", "how long a row stays once cancelled, or forever")
	flags.Bool("forget-args", false, "drop the args once a job is done")
}

// schedule reads arguments and flags.
func (f *scheduleFlags) schedule(flags *pflag.FlagSet, args []string) (d domain.Schedule, err error) {
	job := domain.NewJob{Kind: args[1], Queue: "default", Args: []byte("{}")}
	if len(args) > 2 {
		job.Args = []byte(args[2])
	}
	flags.Visit(func(flag *pflag.Flag) {
		name := strings.ReplaceAll(flag.Name, "-", "_")
		switch shapeOf(name) {
		case words, number, span, yesNo:
			if fault := setField(&job, name, flag.Value.String()); name != "tenant" && fault != nil && err == nil {
				err = badField(name, fault)
			}
		case raw:
			job.Meta = json.RawMessage(flag.Value.String())
		default: // not of the job
		}
	})
	if err != nil {
		return d, err
	}
	if job.Tags, err = flags.GetStringArray("tag"); err != nil {
		return d, err
	}
	d = domain.Schedule{ScheduleKey: domain.ScheduleKey{Name: args[0]}, Timing: domain.Timing{Cron: f.cron, Zone: f.zone}, Job: domain.TemplateOf(&job)}
	if d.Timing.Every, err = f.interval(); err != nil {
		return d, err
	}
	if d.Missed.Policy, err = domain.ParseMissedPolicy(f.missed); err != nil {
		return d, err
	}
	if d.Missed.Policy == domain.MissedAll {
		d.Missed.Max = f.max
	} else if flags.Changed("missed-max") {
		return d, invalid("read flags", "--missed-max", "it goes with --missed all")
	}
	return d, d.Validate()
}

func (f *scheduleFlags) interval() (time.Duration, error) {
	if f.every == "" {
		return 0, nil
	}
	d, err := domain.ParseSpan(f.every)
	if err == nil && d <= 0 {
		err = invalid("read flags", "--every", "it must be more than 0")
	}
	return d, err
}

type addedView struct {
	Name   string `json:"name"`
	Result string `json:"result"`
	NextAt moment `json:"next_at"`
}

// addSchedule writes it and says when it will run first.
func (s *shell) addSchedule(ctx context.Context, app *App, d domain.Schedule) error {
	if err := app.Schedules.Add(ctx, d); err != nil {
		return err
	}
	next, _ := d.Timing.Next(s.Now())
	v := addedView{d.Name, "added", moment(next)}
	return s.answer(v, func(w io.Writer) error { return line(w, "added %s; it runs first at %s", v.Name, v.NextAt) })
}
