package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// prune removes rows whose retention ended.
func (s *shell) prune() *cobra.Command {
	return &cobra.Command{
		Use: "prune", Short: "Remove ended jobs whose time to stay is over",
		Long: "Remove done, cancelled and dead jobs whose time to stay is over: a day for done and cancelled\nones unless the job says otherwise, dead ones stay for ever. Members of a batch stay until that\nis finished; finished batches go after a week. Runners do the same every few minutes.",
		Args: exactly(0, ""), Example: "  rowlock prune --store sqlite:app.db --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
				m := s.meter("prune", 0)
				removed, err := app.Pruner.Prune(ctx, func(n int) { m.set(int64(n)) })
				m.end()
				if err != nil {
					return err
				}
				doc := struct {
					Removed int `json:"removed"`
				}{removed}
				return s.answer(doc, textOf("removed %s", count(removed, "job")))
			})
		},
	}
}
