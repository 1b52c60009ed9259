package mssqlstore

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

func testDialect() bunstore.Dialect {
	return newDialect(nil, Config{Schema: "dbo", TablePrefix: "rowlock_"})
}

// hotTexts are the statements on the way of a job, as SQL Server gets them.
func hotTexts(d *bunstore.Dialect) map[string]string {
	texts := map[string]string{
		"insert_plain": insertText(d, true),
		"insert_full":  insertText(d, false),
		"meet":         bunstore.HoldersText(d, bunstore.NoLock),
		"meet_strict":  bunstore.LockHoldersText(d, false),
		"meet_host":    bunstore.LockHoldersText(d, true),
		"replace":      bunstore.ReplaceText(d),
		"reschedule":   bunstore.RescheduleText(d),
		"fallen":       bunstore.FallenText(d),
		"promote":      promoteText(d),
		"claim_one":    oneKindText(d),
		"claim_kinds":  kindsText(d),
		"settle_done":  bunstore.DoneText(d),
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
		"blocked":      bunstore.BlockedStep(d),
		"fair_next":    bunstore.FairNextText(d),
		"fair_first":   bunstore.FairFirstText(d),
		"fair_pick":    bunstore.FairPickText(d),
		"fair_take":    bunstore.FairTakeText(d),
		"turns_add":    bunstore.AddTurnsText(d),
		"turns_place":  bunstore.PlaceTurnsText(d),
		"slots_taken":  bunstore.TakenText(d),
		"slots_take":   takeSlotsText(d),
		"slots_hold":   bunstore.HoldText(d),
		"slots_ended":  bunstore.EndedText(d),
		"slots_reap":   bunstore.ReapText(d),
		"loosen":       bunstore.LooseText(d),
		"slots_held":   bunstore.HeldText(d),
		"admit_heads":  bunstore.HeadsText(d),
		"admit_park":   bunstore.ParkText(d),
		"wake_turns":   bunstore.TurnsText(d),
		"wake_waited":  bunstore.WaitedText(d),
		"wake_waiters": waitersText(d),
		"wake_ready":   bunstore.ReadyText(d),
	}
}

// TestGolden pins each hot statement. ROWLOCK_UPDATE=1 writes them anew: read them
// then, and run the suite on a server.
func TestGolden(t *testing.T) {
	d := testDialect()
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

// What no hot statement may have.
func TestTextsAreSound(t *testing.T) {
	bad := map[string]*regexp.Regexp{
		"a literal of NVARCHAR, beside which a column of bytes is converted": regexp.MustCompile(`\bN'`),
		"a state as a parameter, for which no filtered index is used":        regexp.MustCompile(`\bstate\s*(=|<>|<|>|IN)\s*\(?@`),
		"a TOP without parentheses":                                          regexp.MustCompile(`\bTOP [^(]`),
		"a form of another database":                                         regexp.MustCompile(`\b(LIMIT|RETURNING|CONFLICT|FOR UPDATE)\b`),
		"a mark that was not compiled":                                       regexp.MustCompile(`\$\d`),
		"an id as a GUID, which sorts by its last six bytes":                 regexp.MustCompile(`(?i)uniqueidentifier`),
		"local time": regexp.MustCompile(`(?i)\b(getdate|sysdatetime|current_timestamp)\b`),
		"a WITH that follows neither ; nor BEGIN": regexp.MustCompile(`[^;N] WITH t AS`),
	}
	d := testDialect()
	for name, text := range hotTexts(&d) {
		for what, form := range bad {
			if found := form.FindString(text); found != "" {
				t.Errorf("%s has %s: %q", name, what, found)
			}
		}
		if open, closed := strings.Count(text, "("), strings.Count(text, ")"); open != closed {
			t.Errorf("%s opens %d parentheses and closes %d", name, open, closed)
		}
		if n := parameters(text); n > 8 {
			t.Errorf("%s has %d parameters: rows go into one", name, n)
		}
	}
}

func parameters(text string) int {
	seen := map[string]bool{}
	for _, p := range regexp.MustCompile(`@p\d+`).FindAllString(text, -1) {
		seen[p] = true
	}
	return len(seen)
}

// Every table that is locked row by row, or looked at past locked rows, names the
// hint that makes this independent of READ_COMMITTED_SNAPSHOT.
func TestHints(t *testing.T) {
	form := regexp.MustCompile(`WITH \(([A-Z, ]+)\)`)
	d := testDialect()
	texts := hotTexts(&d)
	for name, text := range texts {
		for _, found := range form.FindAllStringSubmatch(text, -1) {
			words := strings.Split(found[1], ", ")
			if slices.Contains(words, "READPAST") && !slices.Contains(words, "READCOMMITTEDLOCK") {
				t.Errorf("%s: %s is refused where READ_COMMITTED_SNAPSHOT is on", name, found[0])
			}
		}
	}
	want := map[string]string{
		"claim_one":     "AS j WITH (ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) WHERE j.state = 0 AND j.queue",
		"claim_kinds":   "AS j WITH (FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) ON j.id = a.id WHERE j.state = 0",
		"promote":       "AS j WITH (ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) WHERE j.state = 1",
		"expired":       "AS j WITH (ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) WHERE j.state = 3",
		"prune":         "AS j WITH (ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) WHERE j.state = 4",
		"next":          "AS j WITH (READPAST, READCOMMITTEDLOCK) WHERE j.state = 1",
		"settle_any":    "AS o INNER LOOP JOIN [dbo].[rowlock_jobs] AS j WITH (FORCESEEK, ROWLOCK) ON j.id = o.id AND j.token = o.token",
		"insert_full":   "AS h WITH (FORCESEEK, READCOMMITTEDLOCK) WHERE h.id = o.id",
		"meet_strict":   "AS j WITH (FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.id = o.id AND j.unique_lock = o.held UNION ALL SELECT",
		"meet_host":     "AS j WITH (READCOMMITTEDLOCK) ON j.unique_lock = o.lock AND j.state + 0 < 3 AND j.unique_lock IS NOT NULL ORDER BY j.id) AS o INNER LOOP JOIN",
		"meet":          "AS j ON j.unique_lock = o.lock AND j.unique_lock IS NOT NULL",
		"replace":       "AS j WITH (FORCESEEK, ROWLOCK) ON j.id = o.id AND j.unique_lock = o.unique_lock AND j.state + 0 < 3",
		"slots_take":    "AS s WITH (FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON s.bound = a.bound AND s.slot = a.slot WHERE s.token IS NULL AND s.ends_at <= @now",
		"slots_hold":    "[dbo].[rowlock_slots] AS j WITH (FORCESEEK, ROWLOCK) ON j.bound = o.bound AND j.slot = o.slot AND j.job = o.id AND (j.token = o.token OR o.ended = 0",
		"admit_park":    "AS j WITH (FORCESEEK, ROWLOCK) ON j.id = o.id AND j.token = o.token",
		"turns_place":   "[dbo].[rowlock_job_keys] AS j WITH (FORCESEEK, ROWLOCK) ON j.job = o.id",
		"wake_turns":    "WHERE NOT EXISTS (SELECT 1 FROM [dbo].[rowlock_slots] AS s WITH (FORCESEEK) WHERE s.bound = r.bound",
		"batch_join":    "[rowlock_batches] AS j WITH (FORCESEEK, ROWLOCK, REPEATABLEREAD) ON j.id = o.id",
		"batch_own":     "[rowlock_batches] AS j WITH (FORCESEEK, ROWLOCK, XLOCK, READCOMMITTEDLOCK) ON j.id = o.id",
		"batch_ready":   "[rowlock_jobs] AS j WITH (READPAST, READCOMMITTEDLOCK) WHERE j.batch_id = b.id AND j.batch_id IS NOT NULL ORDER BY j.state",
		"schedule_lock": "[rowlock_schedules] AS j WITH (FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.tenant = o.tenant AND j.name = o.name",
		"wake_waited":   "EXISTS (SELECT 1 FROM [dbo].[rowlock_jobs] AS j WITH (READPAST, READCOMMITTEDLOCK) WHERE j.state = 2",
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !strings.Contains(texts[name], want[name]) {
			t.Errorf("%s has no %q", name, want[name])
		}
	}
	for _, name := range []string{"claim_one", "claim_kinds"} {
		if !strings.Contains(texts[name], " WHERE t.state = 0") {
			t.Errorf("%s does not ask again whether the row is ready", name)
		}
	}
}

// A name or key is as wide in a row source as its column and one more, so that
// what is too long is refused and not cut; ids, numbers and texts have their types.
func TestRowSource(t *testing.T) {
	got := rows("$2", bunstore.InsertCols)
	for _, part := range []string{
		"OPENJSON(CONVERT(NVARCHAR(MAX), $2)) WITH (id VARCHAR(32) '$[0]', queue NVARCHAR(121) '$[1]'",
		"CONVERT(BINARY(16), t.id, 2) AS id",
		"CONVERT(VARBINARY(121), CONVERT(VARCHAR(121), t.queue COLLATE Latin1_General_100_BIN2_UTF8)) AS queue",
		"CONVERT(VARBINARY(401), CONVERT(VARCHAR(401), t.unique_lock COLLATE Latin1_General_100_BIN2_UTF8)) AS unique_lock",
		"CONVERT(VARBINARY(MAX), CONVERT(VARCHAR(MAX), t.args COLLATE Latin1_General_100_BIN2_UTF8)) AS args",
		"t.priority AS priority",
		"t.tags AS tags",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("the row source has no %q:\n%s", part, got)
		}
	}
	limits := map[string]int{"queue": domain.MaxQueue, "kind": domain.MaxKind, "tenant": domain.MaxTenant, "unique_key": domain.MaxKey, "grp": domain.MaxGroup, "bound": domain.MaxBound, "name": max(domain.MaxBatch, domain.MaxSched), "namespace": domain.MaxGroup}
	for column, limit := range limits {
		if width(column) != limit+1 {
			t.Errorf("%s is %d bytes wide, want %d", column, width(column), limit+1)
		}
	}
	key := domain.Unique{Key: strings.Repeat("k", domain.MaxKey), Window: domain.MaxUniqueWindow, Bucket: 25}
	longest := key.Lock(strings.Repeat("t", domain.MaxTenant))
	if len(longest) >= width("unique_lock") || width("lock") != width("unique_lock") {
		t.Errorf("a lock may have %d bytes, its column holds %d", len(longest), width("unique_lock")-1)
	}
}
