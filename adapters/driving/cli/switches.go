package cli

import (
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// queues shows, pauses and resumes queues.
func (s *shell) queues() *cobra.Command {
	return s.group("queues", "Show, pause and resume queues", `Show, pause and resume queues.

The jobs of a paused queue wait where they are; those that run go on, and new ones may be
added. Runners learn of it within a second.`,
		"  rowlock queues list\n  rowlock queues pause mail\n  rowlock queues resume mail",
		s.switchesList(domain.SwitchQueue), s.switchTo(domain.SwitchQueue, true), s.switchTo(domain.SwitchQueue, false))
}

// kinds does the same for kinds, in whatever queue their jobs are.
func (s *shell) kinds() *cobra.Command {
	return s.group("kinds", "Show, pause and resume kinds of jobs", `Show, pause and resume kinds of jobs, in whatever queue they are.

Jobs of a paused kind wait where they are; those that run go on, and new ones may be added.
Runners learn of it within a second.`,
		"  rowlock kinds list\n  rowlock kinds pause mail/welcome\n  rowlock kinds resume mail/welcome",
		s.switchesList(domain.SwitchKind), s.switchTo(domain.SwitchKind, true), s.switchTo(domain.SwitchKind, false))
}

// switchTo is `pause NAME` or `resume NAME`.
func (s *shell) switchTo(sort domain.SwitchSort, pause bool) *cobra.Command {
	word, past := "resume", "resumed"
	if pause {
		word, past = "pause", "paused"
	}
	return &cobra.Command{
		Use: word + " NAME", Short: "Have a " + sort.String() + " " + past, Args: exactly(1, "the name of the "+sort.String()),
		Example: "  rowlock " + sort.String() + "s " + word + " mail",
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
				do := app.Switches.Resume
				if pause {
					do = app.Switches.Pause
				}
				if err := do(ctx, domain.Switch{Sort: sort, Name: args[0]}); err != nil {
					return err
				}
				doc := struct {
					Sort   string `json:"sort"`
					Name   string `json:"name"`
					Paused bool   `json:"paused"`
				}{sort.String(), args[0], pause}
				return s.answer(doc, textOf("%s %s is %s", sort, args[0], past))
			})
		},
	}
}

// switchView is a queue or kind that holds jobs, or is paused.
type switchView struct {
	Name        string `json:"name"`
	PausedSince moment `json:"paused_since"` // null: it is not
	tallyView
}

type switchesView struct {
	header string
	Lines  []switchView `json:"list"`
	Exact  bool         `json:"exact"`
}

func (s *shell) switchesList(sort domain.SwitchSort) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Show every " + sort.String() + " that holds jobs or is paused", Args: exactly(0, ""),
		Example: "  rowlock " + sort.String() + "s list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
				v, err := viewSwitches(ctx, app, sort)
				if err != nil {
					return err
				}
				return s.answer(v, v.printed)
			})
		},
	}
}

func viewSwitches(ctx context.Context, app *App, sort domain.SwitchSort) (switchesView, error) {
	stats, err := app.Inspector.Stats(ctx)
	if err != nil {
		return switchesView{}, err
	}
	paused, err := app.Switches.Paused(ctx)
	if err != nil {
		return switchesView{}, err
	}
	return switchesOf(sort, stats, paused), nil
}

func switchesOf(sort domain.SwitchSort, stats driving.Stats, paused []domain.Paused) switchesView {
	sums, since := map[string]domain.Tally{}, map[string]moment{}
	for _, l := range stats.Lines {
		name := l.Queue
		if sort == domain.SwitchKind {
			name = l.Kind
		}
		sums[name] = sums[name].Add(l.Tally)
	}
	for _, p := range paused {
		if p.Sort == sort {
			sums[p.Name] = sums[p.Name].Add(domain.Tally{})
			since[p.Name] = moment(p.Since)
		}
	}
	v := switchesView{header: sort.String(), Lines: []switchView{}, Exact: stats.Exact}
	for name, sum := range sums {
		v.Lines = append(v.Lines, switchView{name, since[name], viewTally(sum)})
	}
	slices.SortFunc(v.Lines, func(a, b switchView) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return v
}

func (v switchesView) printed(w io.Writer) error {
	rows := make([][]string, len(v.Lines))
	for i, l := range v.Lines {
		rows[i] = []string{l.Name, l.PausedSince.String()}
		for _, n := range []int64{l.Due, l.Scheduled, l.Blocked, l.Running, l.Done, l.Dead, l.Cancelled} {
			rows[i] = append(rows[i], strconv.FormatInt(n, 10))
		}
	}
	return grid(w, 2, []string{v.header, "paused since", "due", "scheduled", "blocked", "running", "done", "dead", "cancelled"}, rows)
}
