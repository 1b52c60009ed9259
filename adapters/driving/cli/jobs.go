package cli

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/domain"
)

// jobs looks at jobs and changes them.
func (s *shell) jobs() *cobra.Command {
	return s.group("jobs", "See and change jobs", "See jobs and change them: named ones, or every one that matches a filter.",
		"  rowlock jobs list --state scheduled --queue web\n  rowlock jobs list --batch 0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10\n  rowlock jobs show 0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10",
		s.jobsList("rowlock jobs", nil), s.jobsShow(),
		s.edit(retrying("rowlock jobs"), nil), s.edit(deleting("rowlock jobs"), nil), s.edit(cancelling("rowlock jobs"), nil))
}

// dead is jobs for dead ones alone.
func (s *shell) dead() *cobra.Command {
	only := []domain.State{domain.Dead}
	return s.group("dead", "See, retry and delete dead jobs", "Dead jobs have used up their attempts or were buried by their handler. They stay until they are\nretried or deleted.",
		"  rowlock dead list --kind http\n  rowlock dead retry --error 'answered 410'\n  rowlock dead delete --all",
		s.jobsList("rowlock dead", only), s.edit(retrying("rowlock dead"), only), s.edit(deleting("rowlock dead"), only))
}

const listHelp = `List jobs, newest first. With --json an array of objects with id, kind, queue, state,
attempts, max_attempts, run_at, error and more. attempts are those that ended.
max_attempts is what the job itself was enqueued with, 0 (in the table -) where it names
none: then what the runner declares for the kind holds, else the runner's default, 5.`

// jobsList prints a page of jobs, newest first.
func (s *shell) jobsList(path string, only []domain.State) *cobra.Command {
	var c chooser
	var limit int
	var before string
	cmd := &cobra.Command{
		Use: "list", Short: "List jobs, newest first", Long: listHelp, Args: exactly(0, ""),
		Example: "  " + path + " list --queue web --since 2h\n  " + path + " list --limit 500 --before 0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10 --json",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		filter, err := c.filter(s.Now, only...)
		if err != nil {
			return err
		}
		page, err := domain.Page{Size: limit}.Validate()
		if err == nil && before != "" {
			page.Before, err = domain.ParseJobID(before)
		}
		if err != nil {
			return err
		}
		return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
			jobs, err := app.Inspector.List(ctx, filter, page)
			if err != nil {
				return err
			}
			return s.answerJobs(jobs, page.Size)
		})
	}
	c.flags(cmd.Flags(), only == nil)
	cmd.Flags().IntVar(&limit, "limit", domain.DefaultPage, "how many, at most 500")
	cmd.Flags().StringVar(&before, "before", "", "go on after this `ID`, the last of the page before")
	return cmd
}

func (s *shell) answerJobs(jobs []domain.Job, limit int) error {
	views := make([]jobView, len(jobs))
	for i := range jobs {
		views[i] = viewJob(&jobs[i])
	}
	return s.answer(views, func(w io.Writer) error {
		rows := make([][]string, len(jobs))
		for i := range jobs {
			j := &jobs[i]
			rows[i] = []string{j.ID.String(), j.Kind, j.Queue, j.State.String(), attemptsText(j), moment(j.RunAt).String(), domain.CleanText(detail(j), 80)}
		}
		if err := grid(w, 7, []string{"id", "kind", "queue", "state", "attempts", "run at", "detail"}, rows); err != nil {
			return err
		}
		if len(jobs) == limit {
			s.say("there may be more: go on with --before %s", jobs[limit-1].ID)
		}
		return nil
	})
}

// detail is what a job waits for or who runs it, else its last error.
func detail(j *domain.Job) string {
	switch {
	case j.State == domain.Blocked:
		return "waits for " + j.BlockedOn
	case j.State == domain.Running && j.Stuck:
		return "stuck on " + j.Runner
	case j.State == domain.Running:
		return "on " + j.Runner
	}
	return j.Error
}

// jobsShow prints everything of one job.
func (s *shell) jobsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show everything of one job", Args: exactly(1, "the job's id"),
		Example: "  rowlock jobs show 0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := domain.ParseJobID(args[0])
			if err != nil {
				return err
			}
			return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
				job, err := app.Inspector.Get(ctx, id)
				if err != nil {
					return err
				}
				v, err := viewWhole(&job)
				if err != nil {
					return err
				}
				return s.answer(v, func(w io.Writer) error { return printWhole(w, &job, v) })
			})
		},
	}
}

func printWhole(w io.Writer, j *domain.Job, v wholeView) error {
	for _, row := range wholeRows(j, v) {
		if row[1] == "" {
			continue
		}
		if err := line(w, "%-11s %s", row[0], row[1]); err != nil {
			return err
		}
	}
	return printHistory(w, v.History)
}

func wholeRows(j *domain.Job, v wholeView) [][]string {
	return [][]string{
		{"id", j.ID.String()},
		{"kind", j.Kind},
		{"queue", j.Queue},
		{"state", j.State.String()},
		{"attempts", attemptsText(j)},
		{"priority", strconv.Itoa(j.Priority)},
		{"run at", v.RunAt.String()},
		{"created", v.CreatedAt.String()},
		{"claimed", v.ClaimedAt.String()},
		{"finished", v.FinishedAt.String()},
		{"runner", j.Runner},
		{"lease until", onlyIf(!j.LeaseUntil.IsZero(), v.LeaseUntil.String())},
		{"stuck", onlyIf(j.Stuck, "its handler runs on after its timeout")},
		{"timeout", spanText(v.TimeoutMS)},
		{"tenant", j.Tenant},
		{"unique", j.UniqueKey},
		{"batch", v.Batch},
		{"fails into", j.FailureKind},
		{"waits for", j.BlockedOn},
		{"limit key", j.LimitKey},
		{v.Turn, strings.Join(j.Keys, ", ")},
		{"on dead", onlyIf(j.Turn == domain.TurnChain, v.OnDead)},
		{"tags", strings.Join(j.Tags, ", ")},
		{"stalls", strconv.Itoa(j.Stalls)},
		{"snoozes", onlyIf(j.Snoozes > 0, strconv.Itoa(j.Snoozes))},
		{"error", j.Error},
		{"result", string(j.Result)},
		{"meta", string(j.Meta)},
		{"args", string(j.Args)},
	}
}

func onlyIf(such bool, text string) string {
	if such {
		return text
	}
	return ""
}

func printHistory(w io.Writer, notes []noteView) error {
	for _, n := range notes {
		if err := line(w, "%-11s %s attempt %d, ran %v, %s: %s", "history", n.At, n.Attempt, spanOf(n.RanMS), n.Runner, n.Message); err != nil {
			return err
		}
	}
	return nil
}
