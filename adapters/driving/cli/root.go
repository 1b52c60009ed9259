package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `Rowlock runs durable background jobs on the database you have.

Name the store with --store or ROWLOCK_STORE, e.g. sqlite:app.db. Every flag has such a
twin in the environment: --http-allow-private is ROWLOCK_HTTP_ALLOW_PRIVATE.

With --json a command prints exactly one JSON document on standard output; logs, progress
and errors for people go to standard error.

` + exitHelp

// root is the whole tree of commands.
func (s *shell) root() *cobra.Command {
	root := s.group("rowlock", "Durable background jobs on your own database", rootHelp,
		"  rowlock demo\n  rowlock enqueue http '{\"url\":\"https://example.com/hook\"}' --store sqlite:app.db\n  rowlock work --once --store sqlite:app.db",
		s.demo(), s.migrate(), s.enqueue(), s.work(), s.jobs(), s.dead(), s.batches(), s.schedules(), s.limits(), s.queues(), s.kinds(), s.stats(), s.prune(), s.bench(), s.version())
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return s.readEnv(cmd) }
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return invalid("read flags", cmd.CommandPath(), err.Error()+"; see `"+cmd.CommandPath()+" --help`")
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	flags := root.PersistentFlags()
	flags.StringVar(&s.settings.Store, "store", "", "the store's `DSN`, e.g. sqlite:app.db")
	flags.StringVar(&s.settings.TablePrefix, "table-prefix", "", "begin of the tables' names (default \"rowlock_\")")
	flags.StringVar(&s.settings.LogLevel, "log-level", "info", "least `level` to log: debug, info, warn, error")
	flags.StringVar(&s.tenant, "tenant", "", "see and touch the jobs of this tenant alone; enqueue for it")
	flags.BoolVar(&s.json, "json", false, "print one JSON document")
	return root
}

// group is a command that only holds others: by itself it shows its help, which is no
// JSON document.
func (s *shell) group(use, short, long, example string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := "see `" + cmd.CommandPath() + " --help`"
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "did you mean " + strings.Join(near, " or ") + "? " + hint
			}
			return invalid("find command", cmd.CommandPath()+" "+args[0], hint)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.json {
				return invalid("find command", cmd.CommandPath(), "name one of its commands; see `"+cmd.CommandPath()+" --help`")
			}
			return cmd.Help()
		},
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(commands...)
	return cmd
}

// exactly takes n arguments, named in the fault where there are more or less.
func exactly(n int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		hint := "give " + names
		if n == 0 {
			hint = "it takes no arguments"
		}
		return invalid("read arguments", cmd.CommandPath(), hint+"; see `"+cmd.CommandPath()+" --help`")
	}
}

func (s *shell) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Example: "  rowlock version", Args: exactly(0, ""),
		RunE: func(*cobra.Command, []string) error {
			doc := struct {
				Version string `json:"version"`
			}{s.Version}
			return s.answer(doc, textOf("rowlock %s", s.Version))
		},
	}
}
