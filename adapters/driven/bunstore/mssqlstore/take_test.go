package mssqlstore

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// claimed is one row of a claim's answer, ScanClaims' 26 columns.
func claimed(n int) []driver.Value {
	row := make([]driver.Value, 26)
	id := make([]byte, 16)
	id[14], id[15] = byte(n>>8), byte(n)
	row[0], row[1], row[11] = id, []byte("k"), []byte("{}")
	return row
}

func claimRequest(n int, kinds ...string) driven.ClaimRequest {
	return driven.ClaimRequest{Token: domain.Token{1}, Runner: "r", Lease: time.Minute, Queue: "q", Kinds: kinds, N: n}
}

// server is a queue of so many due jobs, whose scheduled ones are due until they
// are promoted.
type server struct{ jobs, scheduled, cuts int }

func (s *server) answer(text string, args []any) ([][][]driver.Value, error) {
	if strings.Contains(text, "SET state = 0, wake_at = 0") {
		n := min(s.scheduled, args[0].(int))
		s.scheduled, s.jobs = s.scheduled-n, s.jobs+n
		return [][][]driver.Value{make([][]driver.Value, n)}, nil
	}
	first, ahead := int64(0), args[1].(int) == 1
	if s.scheduled > 0 {
		first = 5
	}
	ask, one := args[2].(int)
	if !one {
		ask = args[4].(int)
	}
	facts := [][]driver.Value{{first, int64(10), int64(0)}}
	if s.scheduled > 0 && !ahead {
		return [][][]driver.Value{facts}, nil
	}
	n := min(s.jobs, ask)
	if s.cuts > 0 {
		s.cuts--
		facts[0][2], n = int64(1), 0
	}
	var rows [][]driver.Value
	for range n {
		rows = append(rows, claimed(s.jobs))
		s.jobs--
	}
	return [][][]driver.Value{facts, rows}, nil
}

// TestClaimGoesByRounds has no claim statement take more than 500 rows, and each
// go on as long as there is more.
func TestClaimGoesByRounds(t *testing.T) {
	b, s := talk(t, (&server{jobs: 1200}).answer)
	got, err := b.Store.Claim(t.Context(), claimRequest(1100, "k"))
	if err != nil || len(got.Jobs) != 1100 {
		t.Fatalf("claimed %d (%v), want 1100", len(got.Jobs), err)
	}
	var asks []string
	for _, a := range s.texts("UPDATE t SET state = 3") {
		asks = append(asks, fmt.Sprint(a.args[2]))
	}
	if want := []string{"500", "500", "100"}; !slices.Equal(asks, want) {
		t.Errorf("asked for %v, want %v", asks, want)
	}
	if !slices.IsSortedFunc(got.Jobs, func(x, y driven.Claimed) int { return x.Job.ID.Compare(y.Job.ID) }) {
		t.Error("the rows of OUTPUT have no order, the answer has to")
	}
}

// TestClaimPromotesFirst takes nothing while a scheduled job is due, promotes,
// and then takes.
func TestClaimPromotesFirst(t *testing.T) {
	b, s := talk(t, (&server{jobs: 2, scheduled: 3}).answer)
	got, err := b.Store.Claim(t.Context(), claimRequest(10, "k"))
	if err != nil || len(got.Jobs) != 5 || got.More || got.Next != driven.NoNext {
		t.Fatalf("claimed %d, more %v, next %v (%v)", len(got.Jobs), got.More, got.Next, err)
	}
	if len(s.asked) != 3 {
		t.Errorf("asked %d times, want a claim, a promotion and a claim", len(s.asked))
	}
	b, _ = talk(t, (&server{scheduled: 600}).answer)
	got, err = b.Store.Claim(t.Context(), claimRequest(1000, "k"))
	if err != nil || len(got.Jobs) != 500 || !got.More {
		t.Errorf("claimed %d, more %v (%v), want 500 and more to come", len(got.Jobs), got.More, err)
	}
}

// TestClaimLooksDeeper looks at more rows of each kind where those it saw were held.
func TestClaimLooksDeeper(t *testing.T) {
	b, s := talk(t, (&server{jobs: 4, cuts: 2}).answer)
	got, err := b.Store.Claim(t.Context(), claimRequest(3, "a", "b"))
	if err != nil || len(got.Jobs) != 3 {
		t.Fatalf("claimed %d (%v), want 3", len(got.Jobs), err)
	}
	var quotas []string
	for _, a := range s.asked {
		quotas = append(quotas, fmt.Sprint(a.args[2]))
	}
	want := []string{`[["a",3],["b",3]]`, `[["a",12],["b",12]]`, `[["a",48],["b",48]]`}
	if !slices.Equal(quotas, want) {
		t.Errorf("the quotas were %v, want %v", quotas, want)
	}
}

// TestInsertAgain writes a statement again that a unique index refused, for a
// bounded while.
func TestInsertAgain(t *testing.T) {
	job := domain.NewJob{ID: domain.JobID{7}, Kind: "k", Queue: "q", Args: []byte("{}"), Unique: &domain.Unique{Key: "u"}}
	refusals := 3
	b, s := talk(t, func(string, []any) ([][][]driver.Value, error) {
		if refusals--; refusals >= 0 {
			return nil, mssql.Error{Number: 2601}
		}
		return [][][]driver.Value{{{job.ID[:]}}}, nil
	})
	got, err := b.Store.Insert(t.Context(), []domain.NewJob{job})
	if err != nil || got[0].ID != job.ID || got[0].Result != domain.InsertedNew || len(s.asked) != 4 {
		t.Errorf("answered %v (%v) after %d statements", got, err, len(s.asked))
	}
	b, s = talk(t, func(string, []any) ([][][]driver.Value, error) { return nil, mssql.Error{Number: 2627} })
	_, err = b.Store.Insert(t.Context(), []domain.NewJob{job})
	wantCode(t, err, domain.Contended)
	if len(s.asked) != insertTries {
		t.Errorf("tried %d times, want %d", len(s.asked), insertTries)
	}
}

// TestInsertBySets writes any number of rows by statements of at most 500 and one
// parameter for all of them.
func TestInsertBySets(t *testing.T) {
	next := 0
	jobs := make([]domain.NewJob, 1201)
	for i := range jobs {
		jobs[i] = domain.NewJob{ID: domain.JobID{1, byte(i >> 8), byte(i)}, Kind: "k", Queue: "q", Args: []byte("{}")}
	}
	b, s := talk(t, func(_ string, args []any) ([][][]driver.Value, error) {
		n := strings.Count(string(args[1].(mssql.NVarCharMax)), `"q"`)
		var ids [][]driver.Value
		for range n {
			ids = append(ids, []driver.Value{jobs[next].ID[:]})
			next++
		}
		return [][][]driver.Value{ids}, nil
	})
	got, err := b.Store.Insert(t.Context(), jobs)
	if err != nil || len(got) != len(jobs) || got[1200].ID != jobs[1200].ID || got[1200].Result != domain.InsertedNew {
		t.Fatalf("answered %d rows (%v)", len(got), err)
	}
	if len(s.asked) != 3 || len(s.asked[0].args) != 2 {
		t.Errorf("%d statements of %d parameters, want 3 of 2", len(s.asked), len(s.asked[0].args))
	}
}
