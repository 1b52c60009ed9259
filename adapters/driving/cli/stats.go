package cli

import (
	"context"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

const statsHelp = `Count jobs by queue and kind. pending = due + scheduled + blocked; due is ready or overdue;
stuck (among the running) run on after their timeout. Timings are those of done jobs.
Each state is counted up to a bound: where it was reached, exact is false.`

// stats prints the state of the queues.
func (s *shell) stats() *cobra.Command {
	var watch bool
	var every time.Duration
	cmd := &cobra.Command{
		Use: "stats", Short: "Count jobs by queue and kind", Long: statsHelp, Args: exactly(0, ""),
		Example: "  rowlock stats --json\n  rowlock stats --watch --every 5s",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case watch && s.json:
			return invalid("read flags", "--watch", "it prints again and again, --json is one document: take one of them")
		case every < 100*time.Millisecond:
			return invalid("read flags", "--every", "it must be 100ms or more")
		}
		return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
			if watch {
				return s.watchStats(ctx, app, every)
			}
			return s.printStats(ctx, app)
		})
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "print again and again until interrupted")
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "how often --watch prints")
	return cmd
}

func (s *shell) watchStats(ctx context.Context, app *App, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if isTerminal(s.Stdout) {
			if _, err := io.WriteString(s.Stdout, "\x1b[H\x1b[2J"); err != nil {
				return err
			}
		}
		if err := s.printStats(ctx, app); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (s *shell) printStats(ctx context.Context, app *App) error {
	stats, err := app.Inspector.Stats(ctx)
	if err != nil {
		return err
	}
	v := viewStats(stats)
	return s.answer(v, v.printed)
}

// tallyView counts jobs.
type tallyView struct {
	Pending   int64 `json:"pending"`
	Due       int64 `json:"due"`
	Scheduled int64 `json:"scheduled"`
	Blocked   int64 `json:"blocked"`
	Running   int64 `json:"running"`
	Stuck     int64 `json:"stuck"`
	Done      int64 `json:"done"`
	Dead      int64 `json:"dead"`
	Cancelled int64 `json:"cancelled"`
}

func viewTally(t domain.Tally) tallyView {
	return tallyView{t.Pending(), t.Due, t.Scheduled, t.Blocked, t.Running, t.Stuck, t.Done, t.Dead, t.Cancelled}
}

// sumView is the statistics of a queue, or of a kind in it.
type sumView struct {
	tallyView
	Oldest  *float64    `json:"oldest_due_seconds"` // null: nothing is due
	Timings timingsView `json:"timings"`
}

type timingsView struct {
	Runs   int64   `json:"runs"`
	MinMS  float64 `json:"min_ms"`
	MaxMS  float64 `json:"max_ms"`
	MeanMS float64 `json:"mean_ms"`
}

type kindView struct {
	Kind string `json:"kind"`
	sumView
}

type queueView struct {
	Queue string `json:"queue"`
	sumView
	Kinds []kindView `json:"kinds"`
}

type runnerView struct {
	ID        string   `json:"id"`
	Kinds     []string `json:"kinds"`
	Queues    []string `json:"queues"` // empty: all
	StartedAt moment   `json:"started_at"`
	SeenAt    moment   `json:"seen_at"`
}

type statsView struct {
	Totals    tallyView    `json:"totals"`
	Queues    []queueView  `json:"queues"`
	Unhandled []string     `json:"unhandled"` // kinds with due jobs that no live runner handles
	Runners   []runnerView `json:"runners"`
	Exact     bool         `json:"exact"`
}

func viewStats(stats driving.Stats) statsView {
	v := statsView{
		Totals: viewTally(stats.Totals()), Exact: stats.Exact,
		Queues: []queueView{}, Unhandled: append([]string{}, stats.Unhandled...), Runners: []runnerView{},
	}
	for start := 0; start < len(stats.Lines); { // the lines come sorted by queue
		end := start + 1
		for end < len(stats.Lines) && stats.Lines[end].Queue == stats.Lines[start].Queue {
			end++
		}
		v.Queues = append(v.Queues, viewQueue(stats.Lines[start:end]))
		start = end
	}
	for _, r := range stats.Runners {
		v.Runners = append(v.Runners, runnerView{r.ID, append([]string{}, r.Kinds...), append([]string{}, r.Queues...), moment(r.StartedAt), moment(r.SeenAt)})
	}
	return v
}

// viewQueue sums up the lines of one queue.
func viewQueue(lines []domain.Line) queueView {
	sum := domain.Line{Queue: lines[0].Queue, Oldest: domain.NoneDue}
	var kinds []kindView
	for _, l := range lines {
		sum.Tally = sum.Tally.Add(l.Tally)
		sum.Oldest = max(sum.Oldest, l.Oldest)
		sum.Timings = addTimings(sum.Timings, l.Timings)
		kinds = append(kinds, kindView{l.Kind, viewSum(l)})
	}
	return queueView{sum.Queue, viewSum(sum), kinds}
}

func addTimings(a, b domain.Timings) domain.Timings {
	switch {
	case a.Runs == 0:
		return b
	case b.Runs == 0:
		return a
	}
	return domain.Timings{Runs: a.Runs + b.Runs, Min: min(a.Min, b.Min), Max: max(a.Max, b.Max), Total: a.Total + b.Total}
}

func viewSum(l domain.Line) sumView {
	v := sumView{tallyView: viewTally(l.Tally), Timings: timingsView{l.Timings.Runs, millis(l.Timings.Min), millis(l.Timings.Max), millis(l.Timings.Mean())}}
	if l.Oldest >= 0 {
		seconds := math.Round(l.Oldest.Seconds()*1000) / 1000
		v.Oldest = &seconds
	}
	return v
}

func (v statsView) printed(w io.Writer) error {
	var rows [][]string
	for _, q := range v.Queues {
		for _, k := range q.Kinds {
			rows = append(rows, append([]string{q.Queue, k.Kind}, k.cells()...))
		}
	}
	rows = append(rows, append([]string{"total", ""}, v.Totals.cells()...))
	header := []string{"queue", "kind", "due", "scheduled", "blocked", "running", "stuck", "done", "dead", "cancelled", "oldest due", "mean run"}
	if err := grid(w, 2, header, rows); err != nil {
		return err
	}
	if len(v.Unhandled) > 0 {
		if err := line(w, "due, and handled by no live runner: %s", strings.Join(v.Unhandled, ", ")); err != nil {
			return err
		}
	}
	if !v.Exact {
		if err := line(w, "some states hold more jobs than were counted"); err != nil {
			return err
		}
	}
	return line(w, "%s alive", count(len(v.Runners), "runner"))
}

func (v tallyView) cells() []string {
	numbers := []int64{v.Due, v.Scheduled, v.Blocked, v.Running, v.Stuck, v.Done, v.Dead, v.Cancelled}
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = strconv.FormatInt(n, 10)
	}
	return out
}

func (v sumView) cells() []string {
	oldest, mean := "-", "-"
	if v.Oldest != nil {
		oldest = (time.Duration(*v.Oldest) * time.Second).String()
	}
	if v.Timings.Runs > 0 {
		mean = strconv.FormatFloat(v.Timings.MeanMS, 'f', 1, 64) + "ms"
	}
	return append(v.tallyView.cells(), oldest, mean)
}
