package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// migrate installs the tables.
func (s *shell) migrate() *cobra.Command {
	return s.group("migrate", "Install, update or remove the tables", "Install, update or remove Rowlock's tables. Any number of callers at once end in the right schema.",
		"  rowlock migrate up --store sqlite:app.db\n  rowlock migrate status",
		s.migrateUp(), s.migrateDown(), s.migrateStatus(), s.migratePrint())
}

// schema opens the store for a migration, without asking for its tables.
func (s *shell) schema(ctx context.Context, do func(context.Context, driving.Schema) error) error {
	return s.opened(ctx, func(ctx context.Context, app *App) error {
		if app.Schema == nil {
			return &domain.Fault{Code: domain.Unsupported, Op: "migrate", Hint: "this store has no tables to install"}
		}
		return do(ctx, app.Schema)
	})
}

func (s *shell) migrateUp() *cobra.Command {
	var to int
	cmd := &cobra.Command{
		Use: "up", Short: "Apply the steps that are missing", Args: exactly(0, ""),
		Example: "  rowlock migrate up --store sqlite:app.db\n  rowlock migrate up --to 1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.schema(cmd.Context(), func(ctx context.Context, schema driving.Schema) error {
				steps, err := schema.Up(ctx, to)
				if err != nil {
					return err
				}
				return s.answerSteps(steps, "applied %s")
			})
		},
	}
	cmd.Flags().IntVar(&to, "to", 0, "the last `step` to apply (default: all)")
	return cmd
}

func (s *shell) migrateDown() *cobra.Command {
	var to int
	cmd := &cobra.Command{
		Use: "down", Short: "Take back the steps above --to; with 0 every table and job goes", Args: exactly(0, ""),
		Example: "  rowlock migrate down --to 0 --store sqlite:app.db",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("to") {
			return invalid("read flags", "--to", "say which step to go back to: --to 0 removes every table and job")
		}
		return s.schema(cmd.Context(), func(ctx context.Context, schema driving.Schema) error {
			steps, err := schema.Down(ctx, to)
			if err != nil {
				return err
			}
			return s.answerSteps(steps, "took back %s")
		})
	}
	cmd.Flags().IntVar(&to, "to", 0, "the `step` to go back to")
	return cmd
}

func (s *shell) migrateStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "List the steps and when they were applied", Args: exactly(0, ""),
		Example: "  rowlock migrate status --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.schema(cmd.Context(), func(ctx context.Context, schema driving.Schema) error {
				steps, err := schema.Status(ctx)
				if err != nil {
					return err
				}
				s.sayMissing(steps)
				return s.answer(viewSteps(steps), func(w io.Writer) error {
					var rows [][]string
					for _, step := range steps {
						rows = append(rows, []string{strconv.Itoa(step.Number), step.Name, moment(step.AppliedAt).String()})
					}
					return grid(w, 3, []string{"step", "name", "applied"}, rows)
				})
			})
		},
	}
}

// sayMissing says what is to be done where steps are not applied, which is no fault.
func (s *shell) sayMissing(steps []driving.Step) {
	applied := func(step driving.Step) bool { return !step.AppliedAt.IsZero() }
	if missing := slices.DeleteFunc(slices.Clone(steps), applied); len(missing) > 0 {
		s.say("%s not applied: run `rowlock migrate up`", count(len(missing), "step"))
	}
}

func (s *shell) migratePrint() *cobra.Command {
	var step int
	cmd := &cobra.Command{
		Use: "print", Short: "Print the statements of a step, or of all", Args: exactly(0, ""),
		Example: "  rowlock migrate print --step 1 --store sqlite:app.db > 1.sql",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.schema(cmd.Context(), func(_ context.Context, schema driving.Schema) error {
				statements, err := schema.Print(step)
				if err != nil {
					return err
				}
				doc := struct {
					SQL string `json:"sql"`
				}{statements}
				return s.answer(doc, func(w io.Writer) error {
					_, err := io.WriteString(w, statements)
					return err
				})
			})
		},
	}
	cmd.Flags().IntVar(&step, "step", 0, "this `step` alone (default: all)")
	return cmd
}

type stepView struct {
	Number    int    `json:"number"`
	Name      string `json:"name"`
	AppliedAt moment `json:"applied_at"`
}

func viewSteps(steps []driving.Step) []stepView {
	views := make([]stepView, len(steps))
	for i, step := range steps {
		views[i] = stepView{step.Number, step.Name, moment(step.AppliedAt)}
	}
	return views
}

func (s *shell) answerSteps(steps []driving.Step, form string) error {
	return s.answer(viewSteps(steps), func(w io.Writer) error {
		if len(steps) == 0 {
			return line(w, "nothing to do")
		}
		for _, step := range steps {
			if err := line(w, form, fmt.Sprintf("%d %s", step.Number, step.Name)); err != nil {
				return err
			}
		}
		return nil
	})
}
