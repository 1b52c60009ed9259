package sqlitestore

import (
	"database/sql"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// hotTexts are the statements on the way of a job, as SQLite gets them.
func hotTexts(d *bunstore.Dialect) map[string]string {
	table := d.Table("jobs")
	texts := map[string]string{
		"insert_plain": insertText(d, true),
		"insert_full":  insertText(d, false),
		"meet":         bunstore.HoldersText(d, bunstore.NoLock),
		"meet_strict":  bunstore.LockHoldersText(d, false),
		"replace":      bunstore.ReplaceText(d),
		"reschedule":   bunstore.RescheduleText(d),
		"fallen":       bunstore.FallenText(d),
		"promote":      promoteText(table),
		"claim":        claimText(table, 3),
		"claim_many":   manyText(table),
		"settle_done":  doneText(d),
		"settle_any":   bunstore.SettleText(d),
		"renew":        bunstore.RenewText(d),
		"renew_gone":   bunstore.CancelledText(d),
		"expired":      bunstore.ExpiredText(d),
		"put_back":     bunstore.PutBackText(d),
		"prune":        bunstore.PruneText(d, domain.Done, false),
		"next":         bunstore.NextText(d),
	}
	maps.Copy(texts, boundTexts(d))
	maps.Copy(texts, setTexts(d))
	for name, text := range texts {
		texts[name] = d.Marks.Compile(text).Text
	}
	return texts
}

// boundTexts are those of jobs that have bounds, and of claims that serve tenants in turn.
func boundTexts(d *bunstore.Dialect) map[string]string {
	return map[string]string{
		"blocked":      bunstore.BlockedSteps(d),
		"fair_next":    bunstore.FairNextText(d),
		"fair_first":   bunstore.FairFirstText(d),
		"fair_pick":    bunstore.FairPickText(d),
		"fair_take":    bunstore.FairTakeText(d),
		"turns_add":    bunstore.AddTurnsText(d),
		"turns_place":  bunstore.PlaceTurnsText(d),
		"slots_taken":  bunstore.TakenText(d),
		"slots_take":   bunstore.TakeSlotsText(d),
		"slots_hold":   bunstore.HoldText(d),
		"slots_ended":  bunstore.EndedText(d),
		"slots_reap":   bunstore.ReapText(d),
		"loosen":       bunstore.LooseText(d),
		"slots_held":   bunstore.HeldText(d),
		"admit_heads":  bunstore.HeadsText(d),
		"admit_park":   bunstore.ParkText(d),
		"wake_turns":   bunstore.TurnsText(d),
		"wake_waited":  bunstore.WaitedText(d),
		"wake_waiters": bunstore.WaitersText(d),
		"wake_ready":   bunstore.ReadyText(d),
	}
}

// TestGolden pins each hot statement. ROWLOCK_UPDATE=1 writes them anew: do that
// only with a new measurement, and say it above the statement.
func TestGolden(t *testing.T) {
	d := newDialect(nil, "rowlock_")
	for name, text := range hotTexts(&d) {
		file := filepath.Join("testdata", name+".sql")
		if os.Getenv("ROWLOCK_UPDATE") == "1" {
			if err := os.WriteFile(file, []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := text + "\n"; got != string(want) {
			t.Errorf("%s is\n%swant\n%s", name, got, want)
		}
	}
}

// TestPlans has each hot statement find its rows by the index meant for it, and
// sort nothing but what it has found.
func TestPlans(t *testing.T) {
	db := migrated(t)
	d := newDialect(db, "rowlock_")
	id := "SEARCH j USING INDEX sqlite_autoindex_rowlock_jobs_1 (id=?)"
	want := map[string]string{
		"meet_strict": "SEARCH j USING INDEX rowlock_jobs_unique (unique_lock=?)",
		"meet":        "SEARCH j USING INDEX rowlock_jobs_unique (unique_lock=?)",
		"replace":     "SEARCH j USING INDEX rowlock_jobs_unique (unique_lock=?)",
		"reschedule":  "SEARCH j USING INDEX rowlock_jobs_unique (unique_lock=?)",
		"fallen":      id,
		"promote":     "SEARCH rowlock_jobs USING INDEX rowlock_jobs_wake (state=? AND wake_at>? AND wake_at<?)",
		"claim":       "SEARCH rowlock_jobs USING COVERING INDEX rowlock_jobs_ready (queue=? AND kind=?)",
		"claim_many":  "SEARCH rowlock_jobs USING COVERING INDEX rowlock_jobs_ready (queue=? AND kind=?)",
		"settle_done": id,
		"settle_any":  id,
		"renew":       id,
		"renew_gone":  id,
		"expired":     "SEARCH j USING INDEX rowlock_jobs_wake (state=? AND wake_at>? AND wake_at<?)",
		"put_back":    id,
		"prune":       "SEARCH j USING INDEX rowlock_jobs_wake (state=? AND wake_at>? AND wake_at<?)",
		"next":        "SEARCH j USING COVERING INDEX rowlock_jobs_wake (state=? AND wake_at>?)",
	}
	maps.Copy(want, boundPlans(id))
	maps.Copy(want, setPlans())
	texts := hotTexts(&d)
	for name, step := range want {
		steps := plan(t, db, texts[name])
		if !strings.Contains(steps, step) {
			t.Errorf("%s does not use its index:\n%s", name, steps)
		}
		for _, bad := range []string{"SCAN rowlock_jobs", "SCAN j\n", "TEMP B-TREE FOR ORDER BY"} {
			if strings.Contains(steps, bad) && name != "claim_many" && name != "meet_strict" { // these sort what they found
				t.Errorf("%s has %q:\n%s", name, bad, steps)
			}
		}
	}
}

// boundPlans is how the statements of boundTexts find their rows.
func boundPlans(id string) map[string]string {
	slot := "SEARCH j USING INDEX sqlite_autoindex_rowlock_slots_1 (bound=? AND slot=?)"
	page := "SEARCH j USING INDEX sqlite_autoindex_rowlock_slots_1 (bound>?)"
	return map[string]string{
		"fair_next":    "SEARCH j USING COVERING INDEX rowlock_jobs_fair (queue=? AND tenant>?)",
		"fair_first":   "SEARCH j USING INDEX rowlock_jobs_fair (queue=? AND tenant=?)",
		"fair_pick":    id,
		"fair_take":    id,
		"turns_add":    id,
		"turns_place":  "SEARCH j USING COVERING INDEX sqlite_autoindex_rowlock_job_keys_1 (job=?)",
		"slots_taken":  "SEARCH j USING INDEX sqlite_autoindex_rowlock_slots_1 (bound=?)",
		"slots_hold":   slot,
		"slots_ended":  "SEARCH j USING INDEX rowlock_slots_ends (ends_at>? AND ends_at<?)",
		"slots_reap":   page,
		"slots_held":   page,
		"admit_heads":  "SEARCH j USING COVERING INDEX rowlock_job_keys_turn (bound=? AND place>?)",
		"admit_park":   id,
		"wake_turns":   "SEARCH j USING COVERING INDEX rowlock_job_keys_turn (bound=? AND place>?)",
		"wake_waited":  "SEARCH j EXISTS USING COVERING INDEX rowlock_jobs_blocked (blocked_on=?)",
		"wake_waiters": "SEARCH j USING INDEX rowlock_jobs_blocked (blocked_on=?)",
		"wake_ready":   id,
	}
}

func plan(t *testing.T, db *sql.DB, text string) string {
	t.Helper()
	args := make([]any, strings.Count(text, "?"))
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, args...) //nolint:rowserrcheck // Drain checks it
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	err = bunstore.Drain(rows, func(rows *sql.Rows) error {
		var id, parent, unused int
		var detail string
		err := rows.Scan(&id, &parent, &unused, &detail)
		steps = append(steps, detail)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "\n") + "\n"
}

// migrated is a pool of one connection on a fresh, installed file.
func migrated(t *testing.T) *sql.DB {
	t.Helper()
	db, err := open(dsn(filepath.Join(t.TempDir(), "jobs.db"), "_pragma", "journal_mode(WAL)"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b, err := FromDB(db, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = b.Close(), db.Close() })
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	return db
}
