package mysqlstore

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// hotTexts are the statements on the way of a job, by their names.
func hotTexts(d *bunstore.Dialect) map[string]bunstore.Stmt {
	c, in, cl, st := d.Marks.Compile, newInserter(d), newClaimer(d), newSettler(d)
	return map[string]bunstore.Stmt{
		"insert_plain":     in.plain,
		"insert_full":      in.full,
		"insert_marked":    in.marks,
		"insert_held":      in.held,
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
		"expired":          c(bunstore.ExpiredText(d)),
		"put_back":         c(bunstore.PutBackText(d)),
		"prune":            c(bunstore.PruneText(d, domain.Done, false)),
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
		"insert_plain": "", "insert_full": "", "insert_held": "locked",
		"promote_look": "wake", "expired": "wake", "prune": "wake", "next": "wake",
		"claim_candidates": "ready",
	}
	onEach(t, func(t *testing.T, dsn string) {
		_, e, d := installed(t, dsn)
		for name, st := range hotTexts(d) {
			key, listed := want[name]
			if !listed {
				key = "PRIMARY"
			}
			for _, step := range plan(t, e.db, st, name == "claim_candidates") {
				ours := strings.Contains(step["table"], "j")
				if ours && key != "" && step["key"] != key || strings.Contains(step["Extra"], "filesort") {
					t.Errorf("%s goes by %q: %v", name, step["key"], step)
				}
			}
		}
	})
}

// plan is the table of EXPLAIN, a row for each table of the statement.
func plan(t *testing.T, db *sql.DB, st bunstore.Stmt, arms bool) (steps []map[string]string) {
	t.Helper()
	values := []any{nil, `[["01","01",0,0,0,0,0,0,0,"","",""]]`, 1, 1, 1, 1}
	if arms {
		values = []any{nil, "q", "a", 1, "b", 1}
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
