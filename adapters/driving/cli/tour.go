package cli

import (
	"io"
	"strconv"

	"github.com/spf13/cobra"
)

// demo shows everything on a throw-away store.
func (s *shell) demo() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "A tour with real jobs on a throw-away SQLite file",
		Long: `Run a tour: jobs of several kinds are enqueued and worked, some fail and are retried, some
die, some are cancelled, a duplicate is refused, a batch has its callback, a crashed
runner's job is recovered.

It works on a throw-away SQLite file, or with --store under a table prefix of its own that
it creates and removes. The summary adds up: enqueued = done + dead + cancelled + waiting.`,
		Args: exactly(0, ""), Example: "  rowlock demo\n  rowlock demo --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings := s.settings
			settings.Log = s.Stderr
			report, err := s.Demo(cmd.Context(), settings, s.tell())
			if err != nil {
				return err
			}
			return s.answer(report, textOf("enqueued %d = done %d + dead %d + cancelled %d + waiting %d  (in %.1f s)",
				report.Enqueued, report.Done, report.Dead, report.Cancelled, report.Waiting, report.Seconds))
		},
	}
}

// tell prints lines for people where the answer is for them.
func (s *shell) tell() Tell {
	w := s.Stdout
	if s.json {
		w = s.Stderr
	}
	return func(text string) { _, _ = io.WriteString(w, plain(text)+"\n") }
}

// bench measures the store on this machine.
func (s *shell) bench() *cobra.Command {
	var o BenchOptions
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure enqueue and work on a throw-away SQLite file",
		Long: `Measure enqueue one by one, enqueue many (1,000 a call) and work of jobs that do nothing, each
as processor time of this process per job and as a ratio to bare work: a loop of two statements
that claims and settles 500 rows a turn on the same schema and keeps them (2.00 is twice as
cheap, 0.50 is twice as dear). The ways take turns in each round; the medians are shown.`,
		Args: exactly(0, ""), Example: "  rowlock bench\n  rowlock bench --jobs 50000 --rounds 5 --json",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Jobs < 1000 || o.Rounds < 1 {
			return invalid("read flags", "--jobs, --rounds", "give 1000 jobs or more and 1 round or more")
		}
		report, err := s.Bench(cmd.Context(), o, s.tell())
		if err != nil {
			return err
		}
		return s.answer(report, report.printed)
	}
	cmd.Flags().IntVar(&o.Jobs, "jobs", 20_000, "how many jobs a round has")
	cmd.Flags().IntVar(&o.Rounds, "rounds", 3, "how many rounds")
	return cmd
}

func (r BenchReport) printed(w io.Writer) error {
	var rows [][]string
	for _, c := range r.Cases {
		rows = append(rows, []string{c.Name, number1(c.USPerJob), strconv.FormatFloat(c.Ratio, 'f', 2, 64), strconv.FormatFloat(c.JobsPerSecond, 'f', 0, 64)})
	}
	if err := grid(w, 1, []string{"case", "CPU us/job", "ratio", "jobs/s"}, rows); err != nil {
		return err
	}
	return line(w, "%s, %d jobs a round, %d workers, medians of %s", r.Store, r.Jobs, r.Workers, count(r.Rounds, "round"))
}

func number1(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
