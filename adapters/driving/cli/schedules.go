package cli

import (
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/domain"
)

const schedulesHelp = `Schedules add a job again and again. Those that an application declares are stored when its
worker starts; others are added here and stay until they are deleted here. Their names are
the tenant's own: name it with --tenant.

Nothing runs them but workers: any of them that handles the kind, "rowlock work" for its
kinds. Each tick has one job, however many workers there are.`

// schedules looks at recurring jobs and changes them.
func (s *shell) schedules() *cobra.Command {
	return s.group("schedules", "Show and change recurring jobs", schedulesHelp,
		"  rowlock schedules list\n  rowlock schedules add ping http '{\"url\":\"https://example.com/ping\"}' --every 5m\n  rowlock schedules run ping",
		s.schedulesList(), s.schedulesAdd(),
		s.scheduleChange("pause NAME", "Stop the ticks of a schedule until it is resumed", "paused", func(ctx context.Context, app *App, name string) error {
			return app.Schedules.Pause(ctx, name)
		}),
		s.scheduleChange("resume NAME", "Let a paused schedule go on from now, without what passed meanwhile", "resumed", func(ctx context.Context, app *App, name string) error {
			return app.Schedules.Resume(ctx, name)
		}),
		s.schedulesRun(),
		s.scheduleChange("delete NAME", "Remove a schedule; one that an application declares is back when that starts again", "deleted", func(ctx context.Context, app *App, name string) error {
			return app.Schedules.Delete(ctx, name)
		}))
}

type changedView struct {
	Name   string `json:"name"`
	Result string `json:"result"`
}

// scheduleChange does one thing to the schedule that is named.
func (s *shell) scheduleChange(use, short, result string, do func(context.Context, *App, string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: exactly(1, "the schedule's name")}
	cmd.Example = "  rowlock schedules " + cmd.Name() + " nightly-report\n  rowlock schedules " + cmd.Name() + " nightly-report --tenant acme --json"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
			if err := do(ctx, app, args[0]); err != nil {
				return err
			}
			return s.answer(changedView{args[0], result}, textOf("%s %s", result, args[0]))
		})
	}
	return cmd
}

func (s *shell) schedulesRun() *cobra.Command {
	return &cobra.Command{
		Use: "run NAME", Short: "Add a schedule's job once more, now, also while it is paused", Args: exactly(1, "the schedule's name"),
		Example: "  rowlock schedules run nightly-report --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
				added, err := app.Schedules.Run(ctx, args[0])
				if err != nil {
					return err
				}
				return s.answer(enqueuedView{added.ID, added.Result}, textOf("%s %s", added.Result, added.ID))
			})
		},
	}
}

const schedulesListHelp = `List schedules by tenant and name, without --tenant those of all tenants. next is when the next tick is,
"-" while it is to be found; skipped counts ticks that passed without a job of their own. handled is
no where no live runner handles the kind: such a schedule waits. One that cannot be followed
is broken, with the reason; declare or add it anew.`

func (s *shell) schedulesList() *cobra.Command {
	var limit int
	var after domain.ScheduleKey
	cmd := &cobra.Command{
		Use: "list", Short: "List schedules", Long: schedulesListHelp, Args: exactly(0, ""),
		Example: "  rowlock schedules list\n  rowlock schedules list --limit 500 --after nightly-report --tenant acme --json",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		page, err := domain.Page{Size: limit}.Validate()
		if err != nil {
			return err
		}
		if s.tenant != "" {
			after.Tenant = s.tenant
		}
		return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
			all, err := app.Schedules.List(ctx, after, page.Size)
			if err != nil {
				return err
			}
			return s.answerSchedules(all, handledKinds(ctx, app), page.Size)
		})
	}
	cmd.Flags().IntVar(&limit, "limit", domain.DefaultPage, "how many, at most 500")
	cmd.Flags().StringVar(&after.Name, "after", "", "go on after this `name`, the last of the page before")
	cmd.Flags().StringVar(&after.Tenant, "after-tenant", "", "and after this `tenant`, where all tenants' are listed")
	return cmd
}

// handledKinds are those of live runners; nil where that is not known.
func handledKinds(ctx context.Context, app *App) []string {
	stats, err := app.Inspector.Stats(domain.WithTenant(ctx, ""))
	if err != nil {
		return nil
	}
	kinds := []string{}
	for _, r := range stats.Runners {
		kinds = append(kinds, r.Kinds...)
	}
	return kinds
}

func (s *shell) answerSchedules(all []domain.Schedule, handled []string, limit int) error {
	views := make([]scheduleView, len(all))
	for i := range all {
		views[i] = viewSchedule(&all[i])
		if handled != nil {
			known := slices.Contains(handled, all[i].Job.Kind)
			views[i].Handled = &known
		}
	}
	return s.answer(views, func(w io.Writer) error {
		rows := make([][]string, len(views))
		for i := range views {
			rows[i] = views[i].row()
		}
		if err := grid(w, 9, []string{"name", "tenant", "kind", "when", "next", "last", "state", "handled", "missed", "skipped"}, rows); err != nil {
			return err
		}
		if last := len(all) - 1; len(all) == limit {
			s.say("there may be more: go on with --after %s --after-tenant %s", strconv.Quote(all[last].Name), strconv.Quote(all[last].Tenant))
		}
		return nil
	})
}
