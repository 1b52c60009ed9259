package cli

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

const workHelp = `Run jobs until interrupted, then stop gracefully: no new job is taken, running ones get
--stop-timeout to end, and what they did is recorded. A second signal ends the process at once.

The kinds are http, and with --allow-exec also exec. Jobs of other kinds wait for a
program that handles them; a warning names them.

With --once: put back what a crashed runner left, run everything that is due, without a
time limit, and print what became of it. Jobs that wait for a later time, a retry among
them, are not waited for; with --delayed they are run now.`

// work runs jobs.
func (s *shell) work() *cobra.Command {
	var once, prefetch, delayed bool
	var queues []string
	w := &WorkSettings{}
	old := retainer{w: w}
	cmd := &cobra.Command{
		Use: "work", Short: "Run jobs", Long: workHelp, Args: exactly(0, ""),
		Example: "  rowlock work --queue web,mail=3 --concurrency 20\n  rowlock work --once --json\n  rowlock work --http-allow-private --lease 10s",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if w.Queues, err = readQueues(queues, w.Concurrency); err == nil {
			err = old.read()
		}
		if err != nil {
			return err
		}
		if s.tenant != "" {
			return invalid("read flags", "--tenant", "a runner works the jobs of all tenants: leave it out")
		}
		if delayed && !once {
			return invalid("read flags", "--delayed", "it goes with --once: a runner that works on does what is due later when its time comes")
		}
		w.NoPrefetch, s.settings.Work = !prefetch, w
		if once {
			return s.with(cmd.Context(), func(ctx context.Context, app *App) error { return s.workOnce(ctx, app, delayed) })
		}
		return s.with(cmd.Context(), s.workOn)
	}
	flags := cmd.Flags()
	flags.BoolVar(&once, "once", false, "run what is due and end")
	flags.BoolVar(&delayed, "delayed", false, "with --once: run now also what is due later, retries until they end")
	flags.StringSliceVar(&queues, "queue", nil, "work these queues alone, each with its own workers: `a,b=3`")
	flags.BoolVar(&prefetch, "prefetch", true, "take a few short jobs ahead of a free worker")
	w.flags(flags)
	old.flags(flags)
	return cmd
}

// flags are those that need no reading.
func (w *WorkSettings) flags(flags *pflag.FlagSet) {
	flags.IntVar(&w.Concurrency, "concurrency", 10, "how many `workers` run jobs")
	flags.DurationVar(&w.Lease, "lease", time.Minute, "how long a job of a runner that vanished is believed to run")
	flags.DurationVar(&w.Poll, "poll", 0, "the longest wait before looking for jobs (default: 1s, or a quarter of a short lease)")
	flags.DurationVar(&w.Upkeep, "upkeep", 0, "how often crashed runners' jobs are looked for (default: 30s, or half the lease)")
	flags.DurationVar(&w.StopTimeout, "stop-timeout", 30*time.Second, "how long running jobs may go on at the end")
	flags.DurationVar(&w.ExitsWithin, "exits-within", 0, "how long after that the process is gone: unfinished jobs run elsewhere no earlier (default: the lease)")
	flags.BoolVar(&w.Abandon, "abandon", false, "leave unfinished jobs to their leases at the end, as a crash would")
	flags.BoolVar(&w.AllowExec, "allow-exec", false, "handle the kind exec: whoever can enqueue can run commands here")
	flags.BoolVar(&w.HTTPAllowPrivate, "http-allow-private", false, "let the kind http reach private and local addresses")
	flags.StringVar(&w.Config, "config", "", "a YAML `FILE` with the schedules that this worker declares")
}

// readQueues reads "web" and "mail=3"; a queue without a number has all workers.
// Names are taken byte by byte, spaces too.
func readQueues(list []string, workers int) (map[string]int, error) {
	queues := make(map[string]int, len(list))
	for _, item := range list {
		name, n := item, workers
		if at := strings.LastIndexByte(name, '='); at >= 0 {
			var err error
			if n, err = strconv.Atoi(name[at+1:]); err != nil || n < 1 {
				return nil, invalid("read flags", "--queue", "give queues like web or mail=3, with 1 worker or more; a name that holds = needs its number: a=b=3")
			}
			name = name[:at]
		}
		if err := domain.ValidateName("queue", name, domain.MaxQueue); err != nil {
			return nil, err
		}
		queues[name] = n
	}
	return queues, nil
}

// workOn runs until the context ends, which is no failure where all handlers could finish.
func (s *shell) workOn(ctx context.Context, app *App) error {
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		s.watchWork(ctx, app, ended)
	}()
	err := app.Worker.Work(ctx)
	close(ended)
	<-watched
	if err != nil && (ctx.Err() == nil || domain.CodeOf(err) != domain.Canceled) {
		return err
	}
	doc := struct {
		Stopped bool `json:"stopped"`
	}{true}
	if answerErr := s.answer(doc, textOf("stopped")); answerErr != nil || err == nil {
		return answerErr
	}
	return &told{code: domain.Canceled, line: err.Error()} // some handlers had not ended
}

// watchWork names each kind once that nobody handles while its jobs are due, and
// says when the stop begins.
func (s *shell) watchWork(ctx context.Context, app *App, ended <-chan struct{}) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	var known []string
	for {
		waiting := foreignKinds(ctx, app)
		fresh := slices.DeleteFunc(waiting, func(kind string) bool { return slices.Contains(known, kind) })
		s.warnOf(fresh)
		known = append(known, fresh...)
		select {
		case <-ended:
			return
		case <-ctx.Done():
			s.say("stopping: running jobs have %v to end; a second signal ends them at once", s.settings.Work.StopTimeout)
			return
		case <-ticker.C:
		}
	}
}

// foreignKinds lists kinds with due jobs that this program does not handle and,
// as far as is known, no other.
func foreignKinds(ctx context.Context, app *App) []string {
	stats, err := app.Inspector.Stats(ctx)
	if err != nil { // a warning less; the work itself tells of a store that fails
		return nil
	}
	return slices.DeleteFunc(stats.Unhandled, func(kind string) bool { return slices.Contains(app.Kinds, kind) })
}

func (s *shell) warnOf(kinds []string) {
	if len(kinds) > 0 {
		s.say("jobs are due that no runner handles, and wait: %s", strings.Join(kinds, ", "))
	}
}

type onceView struct {
	Completed int      `json:"completed"`
	Retried   int      `json:"retried"`
	Snoozed   int      `json:"snoozed"`
	Dead      int      `json:"dead"`
	Cancelled int      `json:"cancelled"`
	Recovered int      `json:"recovered"` // claims of crashed runners that were put back before
	Unhandled []string `json:"unhandled"` // kinds whose due jobs nobody handles
}

func (s *shell) workOnce(ctx context.Context, app *App, delayed bool) error {
	m := s.meter("jobs", 0)
	got, err := app.Worker.Drain(ctx, driving.DrainOptions{Limit: driving.NoLimit, IncludeDelayed: delayed, Progress: func(d driving.Drained) {
		m.set(int64(d.Completed + d.Retried + d.Snoozed + d.Dead + d.Cancelled))
	}})
	m.end()
	if err != nil && got == (driving.Drained{}) {
		return err
	}
	v := onceView{got.Completed, got.Retried, got.Snoozed, got.Dead, got.Cancelled, got.Recovered, []string{}}
	if err == nil {
		v.Unhandled = append(v.Unhandled, foreignKinds(ctx, app)...)
	}
	s.warnOf(v.Unhandled)
	if answerErr := s.answer(v, v.printed); answerErr != nil {
		return answerErr
	}
	if err != nil {
		return &told{code: domain.CodeOf(err), line: err.Error()}
	}
	return nil
}

func (v onceView) printed(w io.Writer) error {
	return line(w, "completed %d, retried %d, snoozed %d, dead %d, cancelled %d, recovered %d",
		v.Completed, v.Retried, v.Snoozed, v.Dead, v.Cancelled, v.Recovered)
}
