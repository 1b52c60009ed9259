package mysqlstore

import (
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// hotTexts are the statements on the way of a job, by their names.
func hotTexts(d *bunstore.Dialect) map[string]bunstore.Stmt {
	c, in, cl, st := d.Marks.Compile, newInserter(d), newClaimer(d), newSettler(d)
	texts := map[string]bunstore.Stmt{
		"insert_plain":     in.plain,
		"insert_full":      in.full,
		"insert_marked":    in.marks,
		"insert_held":      in.held,
		"meet":             c(bunstore.HoldersText(d, bunstore.NoLock)),
		"meet_strict":      c(bunstore.LockHoldersText(d, false)),
		"meet_host":        c(bunstore.LockHoldersText(d, true)),
		"replace":          c(bunstore.ReplaceText(d)),
		"reschedule":       c(bunstore.RescheduleText(d)),
		"fallen":           c(bunstore.FallenText(d)),
		"promote_look":     cl.due,
		"promote_pick":     cl.duePick,
		"promote":          cl.promote,
		"claim_candidates": cl.armsOf(2),
		"claim_pick":       cl.pick,
		"claim_take":       cl.take,
		"settle_done":      st.done,
		"settle_any":       st.any,
		"next":             c(bunstore.NextText(d)),
		"renew":            c(bunstore.RenewText(d)),
		"renew_gone":       c(bunstore.CancelledText(d)),
		"expired":          c(bunstore.ExpiredText(d)),
		"put_back":         c(bunstore.PutBackText(d)),
		"prune":            c(bunstore.PruneText(d, domain.Done, false)),
	}
	maps.Copy(texts, boundTexts(d))
	maps.Copy(texts, setTexts(d))
	return texts
}

// boundTexts are those of jobs that have bounds, and of claims that serve tenants in turn.
func boundTexts(d *bunstore.Dialect) map[string]bunstore.Stmt {
	c, sl := d.Marks.Compile, newSlots(d)
	return map[string]bunstore.Stmt{
		"blocked":      c(blockedText(d)),
		"fair_next":    c(bunstore.FairNextText(d)),
		"fair_first":   c(bunstore.FairFirstText(d)),
		"fair_pick":    c(bunstore.FairPickText(d)),
		"fair_take":    c(bunstore.FairTakeText(d)),
		"turns_add":    c(bunstore.AddTurnsText(d)),
		"turns_place":  c(bunstore.PlaceTurnsText(d)),
		"slots_taken":  c(bunstore.TakenText(d)),
		"slots_take":   sl.take,
		"slots_ours":   sl.ours,
		"slots_hold":   c(bunstore.HoldText(d)),
		"slots_ended":  c(bunstore.EndedText(d)),
		"slots_reap":   c(bunstore.ReapText(d)),
		"loosen":       c(bunstore.LooseText(d)),
		"slots_held":   c(bunstore.HeldText(d)),
		"admit_heads":  c(bunstore.HeadsText(d)),
		"admit_park":   c(bunstore.ParkText(d)),
		"wake_turns":   c(bunstore.TurnsText(d)),
		"wake_waited":  c(bunstore.WaitedText(d)),
		"wake_waiters": sl.waiters[1],
		"wake_ready":   c(bunstore.ReadyText(d)),
	}
}

// TestGolden pins each hot statement. ROWLOCK_UPDATE=1 writes them anew: do that
// only with a new measurement, and say it above the statement.
func TestGolden(t *testing.T) {
	for form, skip := range map[string]bool{"": true, "waiting_": false} {
		d := newDialect(nil, server{database: "app", skip: skip}, "rowlock_")
		for name, st := range hotTexts(&d) {
			if form != "" && name != "claim_pick" {
				continue
			}
			golden(t, filepath.Join("testdata", form+name+".sql"), st.Text+"\n")
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("ROWLOCK_UPDATE") == "1" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is\n%swant\n%s", file, got, want)
	}
}

// TestPlans has the servers say which index each hot statement goes by. The table
// is empty, which is when they would rather scan it.
func TestPlans(t *testing.T) {
	want := map[string]string{
		"insert_plain": "", "insert_full": "", "insert_held": "locked", "meet": "locked PRIMARY", "meet_strict": "locked PRIMARY", "meet_host": "locked PRIMARY",
		"promote_look": "wake", "expired": "wake", "prune": "wake", "next": "wake",
		"claim_candidates": "ready",
		"slots_ended":      "ends", "admit_heads": "turn", "wake_turns": "turn PRIMARY", "wake_waited": "blocked PRIMARY", "wake_waiters": "blocked",
		"fair_first": "fair", "fair_next": "fair", "blocked": "blocked", "loosen": "blocked PRIMARY",
		"batch_live": "batch", "batch_ready": "PRIMARY batch", "schedule_first": "due", "schedule_due": "due", "schedule_later": "due",
	}
	onEach(t, func(t *testing.T, dsn string) {
		_, e, d := installed(t, dsn)
		for name, st := range hotTexts(d) {
			key, listed := want[name]
			if !listed {
				key = "PRIMARY"
			}
			for _, step := range plan(t, e.db, st, name) {
				ours := strings.Contains("j s b", step["table"]) && step["table"] != ""
				if ours && key != "" && !slices.Contains(strings.Fields(key), step["key"]) || strings.Contains(step["Extra"], "filesort") && !strings.HasPrefix(name, "meet") {
					t.Errorf("%s goes by %q: %v", name, step["key"], step)
				}
			}
		}
	})
}

// plan is the table of EXPLAIN, a row for each table of the statement.
func plan(t *testing.T, db *sql.DB, st bunstore.Stmt, name string) (steps []map[string]string) {
	t.Helper()
	values := []any{nil, `[["01","01",0,0,0,0,0,0,0,"","",""]]`, 1, 1, 1, 1}
	switch {
	case name == "loosen":
		values = []any{nil, "l:a:", "l:a;", 1, "a", 1, 1}
	case name == "claim_candidates":
		values = []any{nil, "q", "a", 1, "b", 1}
	case name == "fair_first", name == "fair_next":
		values = []any{nil, "q", "t", 1}
	case strings.HasPrefix(name, "slots_"), strings.HasPrefix(name, "wake_"), name == "admit_heads":
		values = []any{nil, `[["a",0,"01","01",0,0]]`, 1, 1}
	}
	switch name {
	case "slots_ended":
		values[1] = 1
	case "wake_ready", "admit_park":
		values[1] = `[["01","01","a"]]`
	}
	rows, err := db.QueryContext(t.Context(), "EXPLAIN FORMAT=TRADITIONAL "+st.Text, st.Args(values...)...)
	if err != nil {
		t.Fatalf("%v: %s", err, st.Text)
	}
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	err = bunstore.Drain(rows, func(rows *sql.Rows) error {
		cells, step := make([]any, len(cols)), map[string]string{}
		for i := range cells {
			cells[i] = new(sql.NullString)
		}
		err := rows.Scan(cells...)
		for i, c := range cells {
			step[cols[i]] = c.(*sql.NullString).String
		}
		steps = append(steps, step)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// counters are how many rows the session has asked the engine for.
func counters(t *testing.T, db *sql.DB) (sum int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SHOW SESSION STATUS LIKE 'Handler_read%'")
	if err != nil {
		t.Fatal(err)
	}
	err = bunstore.Drain(rows, func(rows *sql.Rows) error {
		var name string
		var n int
		err := rows.Scan(&name, &n)
		sum += n
		return err
	})
	if err != nil {
		t.Fatal(fmt.Errorf("read the counters: %w", err))
	}
	return sum
}
