package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/domain"
)

const enqueueHelp = `Enqueue one job: a kind and its args as JSON, which are stored byte by byte.

Or many, with --file: one JSON object a line,
  {"kind":"http","args":{"url":"https://example.com"},"queue":"web","max_attempts":8}
with the fields ` + knownFields + `.
Flags are defaults for the lines. A file is read whole and checked before anything is
written: if a line is wrong, nothing is. With --continue-on-error the good lines are
written and the others reported; the exit code is 0 only if there were none, else 2.
Lines are written in chunks of 1,000; after a failure the last line that was written is
named. Standard input (--file -) is checked and written chunk by chunk.

Durations are like 90s, 1h30m, 7d, or a number of seconds; moments like 2026-01-31T09:00:00Z.`

// enqueue adds jobs.
func (s *shell) enqueue() *cobra.Command {
	var file string
	var keepGoing bool
	cmd := &cobra.Command{
		Use:   "enqueue KIND [ARGS-JSON] | --file FILE",
		Short: "Add one job, or those of a file",
		Long:  enqueueHelp,
		Example: `  rowlock enqueue http '{"url":"https://example.com/hook","body":{"id":7}}' --unique hook:7 --after 5m
  rowlock enqueue --file jobs.jsonl --queue web --continue-on-error
  generate | rowlock enqueue --file - --json`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		base, err := flagFields(cmd.Flags(), args)
		if err != nil {
			return err
		}
		if file == "" {
			return s.enqueueOne(cmd.Context(), base)
		}
		for _, name := range []string{"unique", "id"} {
			if _, ok := base.text[name]; ok || base.args != nil {
				return invalid("read arguments", "--file", "args, --unique and --id belong to one job: write them into the lines")
			}
		}
		return s.enqueueFile(cmd.Context(), file, base, keepGoing)
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "file", "", "read jobs from a JSONL `FILE`, - is standard input")
	flags.BoolVar(&keepGoing, "continue-on-error", false, "write the good lines of a file and report the others")
	jobFlags(flags)
	return cmd
}

// jobFlags declares a flag for each field of a job; flagFields reads them.
func jobFlags(flags *pflag.FlagSet) {
	flags.String("queue", "", "the `queue` (default \"default\")")
	flags.Int("priority", 0, "lower runs first")
	flags.String("after", "", "run it after this `delay`")
	flags.String("at", "", "run it at this `moment`")
	flags.String("unique", "", "a `key` that only one live job may have")
	flags.String("unique-for", "", "hold the unique key for windows of this `length` instead, whether its job has ended or not")
	flags.String("on-conflict", "", "where the unique key is held: skip, error, replace or reschedule (default \"skip\")")
	flags.Int("max-attempts", 0, "how often it is tried in all (default: the runner's)")
	flags.String("timeout", "", "how long one attempt may take (default: the runner's)")
	flags.StringArray("mutex", nil, "a `key` that one job holds at a time, due jobs in turn; may be repeated")
	flags.StringArray("chain", nil, "a `key` whose jobs run strictly one after the other; may be repeated")
	flags.String("on-dead", "", "what a dead job does to its chains: continue or block (default \"continue\")")
	flags.String("limit-key", "", "the `key` that it counts under, of its kind's limit and rate")
	flags.String("failure-kind", "", "the `kind` of the job that is added when this one dies")
	flags.String("batch", "", "the `ID` of an open batch that it joins")
	flags.StringArray("tag", nil, "a `tag`; may be repeated")
	flags.String("meta", "", "a JSON object that goes with the job")
	flags.String("id", "", "the job's own `UUIDv7`: enqueued twice, it is there once")
	flags.String("keep-done", "", "how long the row stays once done, or forever")
	flags.String("keep-dead", "", "how long the row stays once dead, or forever")
	flags.String("keep-cancelled", "", "how long the row stays once cancelled, or forever")
	flags.Bool("forget-args", false, "drop the args once it is done")
}

// flagFields gathers what was named on the command line.
func flagFields(flags *pflag.FlagSet, args []string) (fields, error) {
	f := fields{text: map[string]string{}}
	if len(args) > 2 {
		return f, invalid("read arguments", "rowlock enqueue", "give a kind and its args as one JSON text: quote it")
	}
	if len(args) > 0 {
		f.text["kind"] = args[0]
	}
	if len(args) > 1 {
		f.args = []byte(args[1])
	}
	flags.Visit(func(flag *pflag.Flag) {
		name := strings.ReplaceAll(flag.Name, "-", "_")
		switch shapeOf(name) {
		case words, number, span, yesNo:
			if name != "tenant" { // a scope, not a field
				f.text[name] = flag.Value.String()
			}
		case raw:
			f.meta = []byte(flag.Value.String())
		default: // a flag of the command itself
		}
	})
	for flag, field := range map[string]string{"tag": "tags", "mutex": "mutex", "chain": "chain"} {
		all, err := flags.GetStringArray(flag)
		if err != nil {
			return f, err
		}
		if len(all) > 0 {
			f.setList(field, all)
		}
	}
	return f, nil
}

type enqueuedView struct {
	ID     domain.JobID    `json:"id"`
	Result domain.Inserted `json:"result"`
}

func (s *shell) enqueueOne(ctx context.Context, f fields) error {
	if f.text["kind"] == "" {
		return invalid("read arguments", "rowlock enqueue", "give a kind and its args, or --file")
	}
	job, err := f.job()
	if err != nil {
		return err
	}
	return s.with(ctx, func(ctx context.Context, app *App) error {
		added, err := app.Enqueuer.Add(ctx, []domain.NewJob{job})
		if err != nil {
			return err
		}
		v := enqueuedView{added[0].ID, added[0].Result}
		return s.answer(v, textOf("%s %s", v.Result, v.ID))
	})
}
