package mssqlstore

import (
	"os"
	"path/filepath"
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
		"promote":      promoteText(d),
		"claim_one":    oneKindText(d),
		"claim_kinds":  kindsText(d),
		"settle_done":  bunstore.DoneText(d),
		"settle_any":   bunstore.SettleText(d),
		"renew":        bunstore.RenewText(d),
		"expired":      bunstore.ExpiredText(d),
		"put_back":     bunstore.PutBackText(d),
		"prune":        bunstore.PruneText(d, domain.Done, false),
		"next":         bunstore.NextText(d),
	}
	for name, text := range texts {
		texts[name] = d.Marks.Compile(text).Text
	}
	return texts
}

// TestGolden pins each hot statement. ROWLOCK_UPDATE=1 writes them anew: read them
// then, for no server here does.
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
