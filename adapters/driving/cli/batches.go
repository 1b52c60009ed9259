package cli

import (
	"context"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/domain"
)

const batchesHelp = `See batches and end them. A batch is a set of jobs with a callback that is enqueued once,
when all of them have ended: done, dead, cancelled or deleted. It is open until it is
sealed; then it waits for its members, and is finished when the last one has ended.`

// batches looks at batches and ends them.
func (s *shell) batches() *cobra.Command {
	return s.group("batches", "See, seal and forget batches", batchesHelp,
		"  rowlock batches list --state open\n  rowlock batches show 0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10\n  rowlock jobs list --batch 0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10",
		s.batchesList(), s.batchesShow(), s.batchesSeal(), s.batchesForget())
}

// batchView is a batch in a document.
type batchView struct {
	ID          domain.BatchID `json:"id"`
	Name        string         `json:"name"`
	Tenant      string         `json:"tenant"`
	State       string         `json:"state"` // open, sealed or finished
	Total       int64          `json:"total"` // members when it was sealed
	Done        int64          `json:"done"`  // of a finished one
	Failed      int64          `json:"failed"`
	Callback    string         `json:"callback"`     // its kind; "": none
	CallbackJob string         `json:"callback_job"` // of a finished one
	Keep        string         `json:"keep"`         // how long it stays once finished
	CreatedAt   moment         `json:"created_at"`
	SealedAt    moment         `json:"sealed_at"`
	FinishedAt  moment         `json:"finished_at"`
}

func viewBatch(b *domain.Batch) batchView {
	v := batchView{
		ID: b.ID, Name: b.Name, Tenant: b.Tenant, State: b.State().String(), Total: b.Total, Done: b.Done, Keep: keepText(b.Keep),
		CreatedAt: moment(b.CreatedAt), SealedAt: moment(b.SealedAt), FinishedAt: moment(b.FinishedAt),
	}
	if b.State() == domain.BatchFinished {
		v.Failed = b.Failed()
	}
	if b.Callback != nil {
		v.Callback = b.Callback.Kind
	}
	if !b.CallbackJob.IsZero() {
		v.CallbackJob = b.CallbackJob.String()
	}
	return v
}

const batchesListHelp = `List batches, newest first. total is how many members a batch had when it was sealed; done
and failed (dead, cancelled or deleted) are counted when it is finished.`

// batchesList prints a page of batches.
func (s *shell) batchesList() *cobra.Command {
	var state, before string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List batches, newest first", Long: batchesListHelp, Args: exactly(0, ""),
		Example: "  rowlock batches list --state sealed\n  rowlock batches list --limit 500 --before 0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10 --json",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		chosen, err := domain.ParseBatchState(state)
		if err != nil {
			return err
		}
		size, err := domain.Page{Size: limit}.Validate()
		if err != nil {
			return err
		}
		page := domain.BatchPage{Size: size.Size}
		if before != "" {
			if page.Before, err = domain.ParseBatchID(before); err != nil {
				return err
			}
		}
		return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
			all, err := app.Batches.List(ctx, chosen, page)
			if err != nil {
				return err
			}
			return s.answerBatches(all, page.Size)
		})
	}
	cmd.Flags().StringVar(&state, "state", "any", "of this `state`: open, sealed, finished or any")
	cmd.Flags().IntVar(&limit, "limit", domain.DefaultPage, "how many, at most 500")
	cmd.Flags().StringVar(&before, "before", "", "go on after this `ID`, the last of the page before")
	return cmd
}

func (s *shell) answerBatches(all []domain.Batch, limit int) error {
	views := make([]batchView, len(all))
	rows := make([][]string, len(all))
	for i := range all {
		v := viewBatch(&all[i])
		views[i] = v
		total, done, failed := "-", "-", "-"
		switch v.State {
		case domain.BatchFinished.String():
			done, failed = strconv.FormatInt(v.Done, 10), strconv.FormatInt(v.Failed, 10)
			fallthrough
		case domain.BatchSealed.String():
			total = strconv.FormatInt(v.Total, 10)
		}
		rows[i] = []string{v.ID.String(), v.Name, v.State, v.Callback, v.CreatedAt.String(), total, done, failed}
	}
	return s.answer(views, func(w io.Writer) error {
		if err := grid(w, 5, []string{"id", "name", "state", "callback", "created", "total", "done", "failed"}, rows); err != nil {
			return err
		}
		if len(all) == limit {
			s.say("there may be more: go on with --before %s", all[limit-1].ID)
		}
		return nil
	})
}

// withBatch is a command on the batch that its argument names.
func (s *shell) withBatch(use, short, example string, do func(context.Context, *App, domain.BatchID) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " ID", Short: short, Args: exactly(1, "the batch's id"), Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := domain.ParseBatchID(args[0])
			if err != nil {
				return err
			}
			return s.with(cmd.Context(), func(ctx context.Context, app *App) error { return do(ctx, app, id) })
		},
	}
}

// wholeBatch is a batch with how far it is.
type wholeBatch struct {
	batchView
	Pending int64 `json:"pending"` // members of an unfinished one that have not ended, at most 10,000
}

func (s *shell) batchesShow() *cobra.Command {
	return s.withBatch("show", "Show a batch and how many of its members have not ended", "  rowlock batches show 0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10 --json",
		func(ctx context.Context, app *App, id domain.BatchID) error {
			b, err := app.Batches.Get(ctx, id)
			if err != nil {
				return err
			}
			v := wholeBatch{viewBatch(&b), b.Pending}
			return s.answer(v, v.printed)
		})
}

func (v wholeBatch) printed(w io.Writer) error {
	rows := [][]string{
		{"id", v.ID.String()}, {"name", v.Name}, {"tenant", v.Tenant}, {"state", v.State},
		{"created", v.CreatedAt.String()}, {"sealed", v.SealedAt.String()}, {"finished", v.FinishedAt.String()},
		{"callback", v.Callback}, {"callback job", v.CallbackJob},
	}
	number := func(name string, n int64) { rows = append(rows, []string{name, strconv.FormatInt(n, 10)}) }
	if v.State != domain.BatchOpen.String() {
		number("total", v.Total)
	}
	if v.State == domain.BatchFinished.String() {
		number("done", v.Done)
		number("failed", v.Failed)
	} else {
		number("pending", v.Pending)
	}
	for _, row := range rows {
		if row[1] == "" {
			continue
		}
		if err := line(w, "%-12s %s", row[0], row[1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *shell) batchesSeal() *cobra.Command {
	return s.withBatch("seal", "End the adding to a batch; its callback comes when its members have ended", "  rowlock batches seal 0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10",
		func(ctx context.Context, app *App, id domain.BatchID) error {
			sealed, err := app.Batches.Seal(ctx, id)
			if err != nil {
				return err
			}
			doc := struct {
				ID    domain.BatchID `json:"id"`
				Total int64          `json:"total"`
				Again bool           `json:"again"` // it was sealed before
			}{id, sealed.Total, sealed.Again}
			what := "sealed"
			if sealed.Again {
				what = "was sealed before"
			}
			return s.answer(doc, textOf("%s: %s", what, count(int(sealed.Total), "job")))
		})
}

func (s *shell) batchesForget() *cobra.Command {
	return s.withBatch("forget", "Remove a batch and leave its jobs alone; an unfinished one has no callback then", "  rowlock batches forget 0197f0a2-5a52-7cc0-9c62-6a0a6f1f2a10",
		func(ctx context.Context, app *App, id domain.BatchID) error {
			if err := app.Batches.Forget(ctx, id); err != nil {
				return err
			}
			doc := struct {
				ID        domain.BatchID `json:"id"`
				Forgotten bool           `json:"forgotten"`
			}{id, true}
			return s.answer(doc, textOf("forgotten %s", id))
		})
}
