package domain_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/rowlock/rowlock/domain"
)

const someID = "0190163d-8694-739b-aea5-966c26f8ad90"

func jobID(t testing.TB, text string) domain.JobID {
	t.Helper()
	id, err := domain.ParseJobID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestJobIDText(t *testing.T) {
	id := jobID(t, someID)
	if upper := jobID(t, strings.ToUpper(someID)); upper != id || upper.String() != someID {
		t.Errorf("upper case gave %v", upper)
	}
	if want := time.UnixMilli(0x0190163d8694).UTC(); !id.Time().Equal(want) || id.Time().Location() != time.UTC {
		t.Errorf("the time is %v, want %v", id.Time(), want)
	}
	text, err := json.Marshal(struct {
		Job   domain.JobID
		Batch domain.BatchID
	}{id, domain.BatchID(id)})
	if want := `{"Job":"` + someID + `","Batch":"` + someID + `"}`; err != nil || string(text) != want {
		t.Errorf("JSON is %s, %v", text, err)
	}
	var back struct{ Job domain.JobID }
	if err := json.Unmarshal(text, &back); err != nil || back.Job != id {
		t.Errorf("read back %v, %v", back.Job, err)
	}
}

func TestParseJobIDRefuses(t *testing.T) {
	for _, text := range []string{
		"", "1", someID[:35], someID + "0", " " + someID[:35], "{" + someID[:34] + "}",
		strings.ReplaceAll(someID, "-", ""), strings.ReplaceAll(someID, "-", "0"),
		"g" + someID[1:], "0190163d-8694-739b-aea5-966c26f8ad9é", strings.Repeat("x", 1<<20),
		"00000000-0000-0000-0000-000000000000",
	} {
		_, err := domain.ParseJobID(text)
		wantFault(t, err, domain.Invalid, "", "UUID text")
	}
	var id domain.JobID
	if err := id.UnmarshalText([]byte("nonsense")); err == nil || !id.IsZero() {
		t.Errorf("nonsense was read as %v, %v", id, err)
	}
}

func TestIDsCompareByTheirText(t *testing.T) {
	agree := func(a, b domain.JobID) bool {
		return a.Compare(b) == strings.Compare(a.String(), b.String()) && a.Compare(b) == -b.Compare(a)
	}
	if err := quick.Check(agree, nil); err != nil {
		t.Error(err)
	}
	early, late := jobID(t, "01900000-0000-7000-8000-ffffffffffff"), jobID(t, "01900000-0001-7000-8000-000000000000")
	if early.Compare(late) != -1 || !early.Time().Before(late.Time()) {
		t.Error("ids do not rise with their time")
	}
}

func TestZeroIDs(t *testing.T) {
	for i := range 16 {
		var raw [16]byte
		raw[i] = 1
		if domain.JobID(raw).IsZero() || domain.BatchID(raw).IsZero() || domain.Token(raw).IsZero() {
			t.Errorf("byte %d does not count", i)
		}
	}
	zeros := []bool{domain.JobID{}.IsZero(), domain.BatchID{}.IsZero(), domain.Token{}.IsZero()}
	if slices.Contains(zeros, false) {
		t.Errorf("zero ids: %v", zeros)
	}
}

func FuzzParseID(f *testing.F) {
	for _, text := range []string{someID, strings.ToUpper(someID), "", "0190163d-8694-739b-aea5", strings.Repeat("-", 36)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := domain.ParseJobID(text)
		if (err == nil) == id.IsZero() {
			t.Fatalf("%q gave %v with %v", text, id, err)
		}
		if err == nil && id.String() != strings.ToLower(text) {
			t.Fatalf("%q became %v", text, id)
		}
	})
}
