package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// maxRefusals is how many refusals of a bulk change are named.
const maxRefusals = 100

const editHelp = `Name jobs by id, or choose them by flags; --all is needed where no flag narrows the choice.
Without --state the chosen are %s ones. Every job that matches as the call began is
changed, page by page. Where some are refused the report says so and the exit code is 4.`

// change is one way to change jobs.
type change struct {
	path, use, short, done string
	states                 []domain.State // that a filter means which names none
	only                   bool           // jobs in other states are never touched, also not by name
	hasDue                 bool
	named                  func(context.Context, *App, []domain.JobID, domain.Due) ([]domain.Edited, error)
	bulk                   func(context.Context, *App, driving.Bulk, domain.Due) (driving.BulkResult, error)
}

func retrying(path string) change {
	return change{
		path: path, use: "retry", short: "Run jobs (again): attempts start anew, the history stays", done: "retried",
		states: []domain.State{domain.Dead}, hasDue: true,
		named: func(ctx context.Context, app *App, ids []domain.JobID, due domain.Due) ([]domain.Edited, error) {
			return app.Operator.Retry(ctx, ids, due)
		},
		bulk: func(ctx context.Context, app *App, b driving.Bulk, due domain.Due) (driving.BulkResult, error) {
			return app.Bulk.RetryAll(ctx, b, due)
		},
	}
}

func deleting(path string) change {
	return change{
		path: path, use: "delete", short: "Delete jobs that are not running", done: "deleted", states: []domain.State{domain.Dead},
		named: func(ctx context.Context, app *App, ids []domain.JobID, _ domain.Due) ([]domain.Edited, error) {
			return app.Operator.Delete(ctx, ids)
		},
		bulk: func(ctx context.Context, app *App, b driving.Bulk, _ domain.Due) (driving.BulkResult, error) {
			return app.Bulk.DeleteAll(ctx, b)
		},
	}
}

func cancelling(path string) change {
	return change{
		path: path, use: "cancel", short: "Give up jobs that wait or run", done: "cancelled",
		states: []domain.State{domain.Ready, domain.Scheduled, domain.Blocked, domain.Running},
		named: func(ctx context.Context, app *App, ids []domain.JobID, _ domain.Due) ([]domain.Edited, error) {
			return app.Operator.Cancel(ctx, ids)
		},
		bulk: func(ctx context.Context, app *App, b driving.Bulk, _ domain.Due) (driving.BulkResult, error) {
			return app.Bulk.CancelAll(ctx, b)
		},
	}
}

// edit is the command of a change. With only, no other state is ever touched.
func (s *shell) edit(c change, only []domain.State) *cobra.Command {
	var choose chooser
	var all bool
	var after, at string
	if only != nil {
		c.states, c.only = only, true
	}
	cmd := &cobra.Command{
		Use: c.use + " [ID...]", Short: c.short, Args: cobra.ArbitraryArgs,
		Long:    c.short + ".\n\n" + fmt.Sprintf(editHelp, namesOf(c.states)),
		Example: "  " + c.path + " " + c.use + " 0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10\n  " + c.path + " " + c.use + " --queue web --since 1d",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		due, err := readDue(after, at)
		if err != nil {
			return err
		}
		filter, err := choose.filter(s.Now, c.states...)
		if err != nil {
			return err
		}
		switch chosen := all || choose.narrow(); {
		case len(args) > 0 && chosen:
			return invalid("read arguments", cmd.CommandPath(), "name ids or choose by flags, not both")
		case len(args) > 0:
			return s.editNamed(cmd.Context(), c, args, due)
		case !chosen:
			return invalid("read arguments", cmd.CommandPath(), "name ids, narrow the choice by flags, or say --all for every "+namesOf(c.states)+" job")
		}
		return s.editAll(cmd.Context(), c, driving.Bulk{Filter: filter, All: all}, due)
	}
	choose.flags(cmd.Flags(), only == nil)
	cmd.Flags().BoolVar(&all, "all", false, "choose without narrowing")
	if c.hasDue {
		cmd.Flags().StringVar(&after, "after", "", "run them after this `delay`")
		cmd.Flags().StringVar(&at, "at", "", "run them at this `moment`")
	}
	return cmd
}

func namesOf(states []domain.State) string {
	names := ""
	for i, state := range states {
		if i > 0 {
			names += ", "
		}
		names += state.String()
	}
	return names
}

func readDue(after, at string) (due domain.Due, err error) {
	if after != "" {
		if due.After, err = domain.ParseSpan(after); err != nil {
			return due, err
		}
	}
	if at != "" {
		if due.At, err = readMoment(at); err != nil {
			return due, invalid("read flags", "--at", err.Error())
		}
	}
	return due, due.Validate()
}

type editView struct {
	Done    int          `json:"done"`
	Refused int          `json:"refused"`
	Jobs    []editedView `json:"jobs"` // of named jobs each, of a filter the first that were refused
}

type editedView struct {
	ID    domain.JobID `json:"id"`
	OK    bool         `json:"ok"`
	Code  domain.Code  `json:"code,omitempty"`
	Error string       `json:"error,omitempty"`
}

func viewEdited(e domain.Edited) editedView {
	v := editedView{ID: e.ID, OK: e.Err == nil}
	if e.Err != nil {
		v.Code, v.Error = domain.CodeOf(e.Err), e.Err.Error()
	}
	return v
}

func (s *shell) editNamed(ctx context.Context, c change, args []string, due domain.Due) error {
	var ids []domain.JobID
	for _, arg := range args {
		id, err := domain.ParseJobID(arg)
		if err != nil {
			return err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return s.with(ctx, func(ctx context.Context, app *App) error {
		edited, err := c.byName(ctx, app, ids, due)
		if err != nil && len(edited) == 0 {
			return err
		}
		v := editView{Jobs: []editedView{}}
		code := domain.Conflict
		for _, e := range edited {
			v.Jobs = append(v.Jobs, viewEdited(e))
			if e.Err == nil {
				v.Done++
			} else if v.Refused++; len(ids) == 1 {
				code = domain.CodeOf(e.Err)
			}
		}
		if err != nil {
			return s.answerFailed(c, v, &told{code: domain.CodeOf(err), line: err.Error()})
		}
		return s.answerEdit(c, v, code)
	})
}

func (c change) byName(ctx context.Context, app *App, ids []domain.JobID, due domain.Due) (edited []domain.Edited, err error) {
	if !c.only {
		return c.named(ctx, app, ids, due)
	}
	_, err = c.bulk(ctx, app, driving.Bulk{
		IDs: ids, Filter: domain.Filter{States: c.states},
		Each: func(page []domain.Edited) { edited = append(edited, page...) },
	}, due)
	return edited, err
}

func (s *shell) editAll(ctx context.Context, c change, b driving.Bulk, due domain.Due) error {
	return s.with(ctx, func(ctx context.Context, app *App) error {
		v := editView{Jobs: []editedView{}}
		b.Each = func(page []domain.Edited) {
			for _, e := range page {
				if e.Err != nil && len(v.Jobs) < maxRefusals {
					v.Jobs = append(v.Jobs, viewEdited(e))
				}
			}
		}
		m := s.meter(c.use, 0)
		b.Progress = func(done, refused int) { m.set(int64(done + refused)) }
		sum, err := c.bulk(ctx, app, b, due)
		m.end()
		v.Done, v.Refused = sum.Done, sum.Refused
		if err != nil {
			if v.Done+v.Refused == 0 {
				return err
			}
			return s.answerFailed(c, v, &told{code: domain.CodeOf(err), line: err.Error()})
		}
		return s.answerEdit(c, v, domain.Conflict)
	})
}

func (s *shell) answerEdit(c change, v editView, refused domain.Code) error {
	if v.Refused > 0 {
		return s.answerFailed(c, v, &told{code: refused, line: count(v.Refused, "job") + " refused"})
	}
	return s.answer(v, textOf("%s %d", c.done, v.Done))
}

// answerFailed prints the report of a change that did not wholly go through.
func (s *shell) answerFailed(c change, v editView, why *told) error {
	err := s.answer(v, func(w io.Writer) error {
		for _, e := range v.Jobs {
			if !e.OK {
				s.say("%s", e.Error)
			}
		}
		return line(w, "%s %d, refused %d", c.done, v.Done, v.Refused)
	})
	if err != nil {
		return err
	}
	return why
}
