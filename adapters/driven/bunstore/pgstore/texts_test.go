package pgstore

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// TestGolden pins each hot statement. ROWLOCK_UPDATE=1 writes them anew: do that
// only with a new measurement, and say it above the statement.
func TestGolden(t *testing.T) {
	cfg, err := Config{}.check()
	if err != nil {
		t.Fatal(err)
	}
	d := newDialect(nil, cfg)
	texts := map[string]string{
		"insert_one":   newInserter(&d).one.Text,
		"insert_plain": newInserter(&d).plain.Text,
		"insert_full":  newInserter(&d).any.Text,
		"meet":         d.Marks.Compile(bunstore.HoldersText(&d, bunstore.NoLock)).Text,
		"meet_strict":  d.Marks.Compile(bunstore.LockHoldersText(&d, false)).Text,
		"replace":      d.Marks.Compile(bunstore.ReplaceText(&d)).Text,
		"reschedule":   d.Marks.Compile(bunstore.RescheduleText(&d)).Text,
		"fallen":       d.Marks.Compile(bunstore.FallenText(&d)).Text,
		"promote":      newClaimer(&d).promote.Text,
		"claim":        newClaimer(&d).look.oneKind.Text,
		"claim_kinds":  newClaimer(&d).look.kinds.Text,
		"claim_bare":   newClaimer(&d).bare.oneKind.Text,
		"kinds_bare":   newClaimer(&d).bare.kinds.Text,
		"settle_one":   newSettler(&d).one.Text,
		"settle_done":  newSettler(&d).done.Text,
		"settle_any":   newSettler(&d).any.Text,
		"renew":        d.Marks.Compile(bunstore.RenewText(&d)).Text,
		"renew_gone":   d.Marks.Compile(bunstore.CancelledText(&d)).Text,
		"expired":      d.Marks.Compile(bunstore.ExpiredText(&d)).Text,
		"put_back":     d.Marks.Compile(bunstore.PutBackText(&d)).Text,
		"slots_take":   d.Marks.Compile(bunstore.TakeSlotsText(&d)).Text,
		"slots_hold":   d.Marks.Compile(bunstore.HoldText(&d)).Text,
		"slots_taken":  d.Marks.Compile(bunstore.TakenText(&d)).Text,
		"slots_ended":  d.Marks.Compile(bunstore.EndedText(&d)).Text,
		"slots_reap":   d.Marks.Compile(bunstore.ReapText(&d)).Text,
		"loosen":       d.Marks.Compile(bunstore.LooseText(&d)).Text,
		"slots_held":   d.Marks.Compile(bunstore.HeldText(&d)).Text,
		"admit_heads":  d.Marks.Compile(bunstore.HeadsText(&d)).Text,
		"admit_park":   d.Marks.Compile(bunstore.ParkText(&d)).Text,
		"blocked":      d.Marks.Compile(bunstore.BlockedSteps(&d)).Text,
		"fair_next":    d.Marks.Compile(bunstore.FairNextText(&d)).Text,
		"fair_first":   d.Marks.Compile(bunstore.FairFirstText(&d)).Text,
		"fair_pick":    d.Marks.Compile(bunstore.FairPickText(&d)).Text,
		"fair_take":    d.Marks.Compile(bunstore.FairTakeText(&d)).Text,
		"turns_add":    d.Marks.Compile(bunstore.AddTurnsText(&d)).Text,
		"turns_place":  d.Marks.Compile(bunstore.PlaceTurnsText(&d)).Text,
		"wake_turns":   d.Marks.Compile(bunstore.TurnsText(&d)).Text,
		"wake_waited":  d.Marks.Compile(bunstore.WaitedText(&d)).Text,
		"wake_waiters": newWaiters(&d).first.Text,
		"wake_ready":   d.Marks.Compile(bunstore.ReadyText(&d)).Text,
		"prune":        d.Marks.Compile(bunstore.PruneText(&d, domain.Done, false)).Text,
	}
	maps.Copy(texts, setTexts(&d))
	for name, text := range texts {
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
