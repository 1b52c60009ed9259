package cli

import (
	"context"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

const limitsHelp = `Show what kinds declare of limits and rates, and who holds a slot of what.

A key is printed as it is stored: l:GROUP:KEY of a limit, r:GROUP:KEY of a rate, m0:KEY of a
mutex, c0:KEY of a chain (the number is the length of the tenant's name before the key). A
slot that nobody holds any more may be kept for a while: a rate's until its window is over,
a crashed runner's until its handler must be gone.
Where the claim is over but the slot is kept on and on, a runner still uses it: the handler
did not heed its end, or the runner passed the slot to another job under the same limit, one
of those that rowlock jobs list --state running shows. Where its runner is not named any
more, rowlock jobs show has it in the history: end that process to free the slot.
A limit whose n is none was declared once and is no more. With a tenant in scope only its
own mutexes and chains are shown as held: the slots of limits and rates are everybody's.
Each list has at most 500 lines; where there are more, --after KEY shows only what is held behind
that key.`

const blockedHelp = `Show the keys that jobs wait for, and the chains that a dead job blocks.

Those who wait for a limit or rate start when a slot is free, whoever they are. Those who wait
for a mutex or chain start one after another, and all of them wait for the job whose turn it
is: rowlock jobs show says what that one waits for. Where it is ready and does not start, its
kind or queue is paused, or no runner handles them; where it is scheduled, for its next
attempt. Resume, run, cancel or delete it, and the others go on.
Each list has at most 500 lines; where there are more, --after KEY shows those behind that key.`

// limits shows bounds and releases chains.
func (s *shell) limits() *cobra.Command {
	var after string
	cmd := &cobra.Command{
		Use: "limits", Short: "Show limits, rates and turns", Long: limitsHelp, Args: exactly(0, ""),
		Example: "  rowlock limits --json\n  rowlock limits --after l:smtp:eu\n  rowlock limits blocked\n  rowlock limits release c0:account:42",
	}
	cmd.Flags().StringVar(&after, "after", "", afterUsage)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
			v, err := viewLimits(ctx, app.Bounds, after)
			if err != nil {
				return err
			}
			return s.answer(v, v.printed)
		})
	}
	cmd.AddCommand(s.limitsBlocked(), s.limitsRelease())
	return cmd
}

const afterUsage = "go on after this `KEY`, the last of the list before"

func (s *shell) limitsBlocked() *cobra.Command {
	var after string
	cmd := &cobra.Command{
		Use: "blocked", Short: "Show the keys that jobs wait for, and the chains that a dead job blocks", Long: blockedHelp, Args: exactly(0, ""),
		Example: "  rowlock limits blocked --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
				v, err := viewBlocked(ctx, app.Bounds, after)
				if err != nil {
					return err
				}
				return s.answer(v, v.printed)
			})
		},
	}
	cmd.Flags().StringVar(&after, "after", "", afterUsage)
	return cmd
}

func (s *shell) limitsRelease() *cobra.Command {
	return &cobra.Command{
		Use: "release KEY", Short: "Let a blocked chain go on without its dead jobs, which stay dead",
		Args:    exactly(1, "the key as `rowlock limits blocked` prints it"),
		Example: "  rowlock limits release c0:account:42",
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.with(cmd.Context(), func(ctx context.Context, app *App) error {
				done, err := app.Bounds.Release(ctx, args[0])
				if err != nil {
					return err
				}
				doc := struct {
					Dead  int `json:"dead"`
					Woken int `json:"woken"`
				}{done.Dead, done.Woken}
				return s.answer(doc, textOf("released from %s; %s can start", count(done.Dead, "dead job"), count(done.Woken, "job")))
			})
		},
	}
}

// limitsView is what is declared and held.
type limitsView struct {
	Declared []declaredView `json:"declared"`
	Held     []heldView     `json:"held"`
	More     bool           `json:"more"`
}

type declaredView struct {
	Kind     string           `json:"kind"`
	Sort     domain.BoundSort `json:"sort"`
	Group    string           `json:"group"`
	N        int              `json:"n"` // 0: the kind declares none any more
	WindowMS float64          `json:"window_ms"`
	At       moment           `json:"declared_at"`
}

type heldView struct {
	Key    string  `json:"key"`
	Slot   int     `json:"slot"`
	Job    string  `json:"job"` // "": only kept for a while
	Over   bool    `json:"over"`
	Runner string  `json:"runner"`
	Since  moment  `json:"since"`
	LeftMS float64 `json:"left_ms"`
}

// claim is what became of the claim that took the slot.
func (h heldView) claim() string {
	if h.Over {
		return "over"
	}
	return "runs"
}

func viewLimits(ctx context.Context, b driving.Bounds, after string) (v limitsView, err error) {
	var declared []domain.Declaration
	from, moreDeclared := domain.Slot{Key: after, Index: domain.MaxSlots}, false
	if after == "" {
		from = domain.Slot{}
		declared, moreDeclared, err = full(ctx, "", b.Declared, func(d domain.Declaration) string { return d.Kind })
	}
	if err != nil {
		return v, err
	}
	held, moreHeld, err := full(ctx, from, b.Held, func(h domain.Holder) domain.Slot { return h.Slot })
	if err != nil {
		return v, err
	}
	v = limitsView{Declared: []declaredView{}, Held: []heldView{}, More: moreDeclared || moreHeld}
	for _, d := range declared {
		v.Declared = append(v.Declared, declaredView{d.Kind, d.Sort, d.Group, d.N, millis(d.Window), moment(d.At)})
	}
	for _, h := range held {
		v.Held = append(v.Held, heldView{h.Key, h.Index, idText(h.Job), h.Over, h.Runner, moment(h.Since), millis(h.Left)})
	}
	return v, nil
}

func (v limitsView) printed(w io.Writer) error {
	declared := make([][]string, len(v.Declared))
	for i, d := range v.Declared {
		window := ""
		if d.WindowMS > 0 {
			window = spanText(d.WindowMS)
		}
		n := "none"
		if d.N > 0 {
			n = strconv.Itoa(d.N)
		}
		declared[i] = []string{d.Kind, d.Sort.String(), d.Group, d.At.String(), n, window}
	}
	if err := grid(w, 4, []string{"kind", "sort", "group", "declared", "n", "window"}, declared); err != nil {
		return err
	}
	held := make([][]string, len(v.Held))
	for i, h := range v.Held {
		held[i] = []string{h.Key, h.Job, h.claim(), h.Runner, h.Since.String(), strconv.Itoa(h.Slot), spanText(h.LeftMS)}
	}
	if err := grid(w, 5, []string{"key", "held by", "claim", "runner", "since", "slot", "kept for"}, held); err != nil {
		return err
	}
	return moreLine(w, v.More)
}

// blockedView is who waits for what.
type blockedView struct {
	Waiting []waitingView `json:"waiting"`
	Chains  []chainView   `json:"chains"`
	More    bool          `json:"more"`
}

type waitingView struct {
	Key   string `json:"key"`
	Jobs  int    `json:"jobs"`
	Exact bool   `json:"exact"` // false: there are at least so many
	Turn  string `json:"turn"`  // "": not of a mutex or chain
}

type chainView struct {
	Key string       `json:"key"`
	Job domain.JobID `json:"job"` // the dead one
}

func viewBlocked(ctx context.Context, b driving.Bounds, after string) (v blockedView, err error) {
	waiting, moreWaiting, err := full(ctx, after, b.Waiting, func(w driving.Waiting) string { return w.Key })
	if err != nil {
		return v, err
	}
	chains, moreChains, err := full(ctx, after, b.Chains, func(c domain.Chain) string { return c.Key })
	if err != nil {
		return v, err
	}
	v = blockedView{Waiting: []waitingView{}, Chains: []chainView{}, More: moreWaiting || moreChains}
	for _, x := range waiting {
		v.Waiting = append(v.Waiting, waitingView{x.Key, x.N, x.Exact, idText(x.Turn)})
	}
	for _, c := range chains {
		v.Chains = append(v.Chains, chainView{c.Key, c.Job})
	}
	return v, nil
}

func (v blockedView) printed(w io.Writer) error {
	waiting := make([][]string, len(v.Waiting))
	for i, x := range v.Waiting {
		n := strconv.Itoa(x.Jobs)
		if !x.Exact {
			n += "+"
		}
		waiting[i] = []string{x.Key, x.Turn, n}
	}
	if err := grid(w, 2, []string{"key", "whose turn", "jobs that wait"}, waiting); err != nil {
		return err
	}
	chains := make([][]string, len(v.Chains))
	for i, c := range v.Chains {
		chains[i] = []string{c.Key, c.Job.String()}
	}
	if err := grid(w, 2, []string{"blocked chain", "by the dead job"}, chains); err != nil {
		return err
	}
	return moreLine(w, v.More)
}

func moreLine(w io.Writer, more bool) error {
	if !more {
		return nil
	}
	return line(w, "there are more than %d", domain.MaxPage)
}

// spanText is a span of a document for people, "" for none.
func spanText(ms float64) string {
	if ms == 0 {
		return ""
	}
	return spanOf(ms).String()
}

func spanOf(ms float64) time.Duration { return time.Duration(math.Round(ms*1000)) * time.Microsecond }

// full reads a page as large as one may be, and says whether anything is behind it.
func full[A, T any](ctx context.Context, after A, list func(context.Context, A, int) ([]T, error), at func(T) A) (all []T, more bool, err error) {
	all, err = list(ctx, after, domain.MaxPage)
	if err != nil || len(all) < domain.MaxPage {
		return all, false, err
	}
	rest, err := list(ctx, at(all[len(all)-1]), 1)
	return all, len(rest) > 0, err
}
