package mssqlstore

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestBind has every name go as its bytes, and what a statement reads as text as
// NVARCHAR(MAX), whatever its number.
func TestBind(t *testing.T) {
	text := "SELECT @p1, CONVERT(NVARCHAR(MAX), @p12), @p2"
	args := []any{"päth", "", nil, int64(3), []byte{0, 1}, 6, 7, 8, 9, 10, mssql.NVarCharMax("json"), "text"}
	want := []any{[]byte("päth"), []byte{}, nil, int64(3), []byte{0, 1}, 6, 7, 8, 9, 10, mssql.NVarCharMax("json"), mssql.NVarCharMax("text")}
	if got := bind(text, args); !reflect.DeepEqual(got, want) {
		t.Errorf("bound %#v, want %#v", got, want)
	}
	if got := settled("CREATE VIEW x", nil); got != "CREATE VIEW x" {
		t.Errorf("DDL became %q", got)
	}
	for _, word := range []string{"SET NOCOUNT OFF;", "SET XACT_ABORT OFF;", "ISOLATION LEVEL READ COMMITTED;"} {
		if got := settled("SELECT @p1", args[:1]); !strings.Contains(got, word) || !strings.HasSuffix(got, "; SELECT @p1") {
			t.Errorf("a statement became %q", got)
		}
	}
}

// TestNoNameIsText runs every read and checks that no value goes as a plain
// string, beside which a column of bytes would be converted.
func TestNoNameIsText(t *testing.T) {
	b, s := talk(t, func(string, []any) ([][][]driver.Value, error) { return nil, nil })
	ctx, store := t.Context(), b.Store
	filter := domain.Filter{Queue: "q", Kind: "k", Tenant: "t", Tag: "x", Error: "e", States: []domain.State{domain.Dead}}
	_, _ = store.Jobs(ctx, filter, domain.Page{Size: 5, Before: domain.JobID{1}})
	_, _, _ = store.Count(ctx, filter, 10)
	_, _ = store.Queues(ctx, "", 5)
	_, _ = store.Stats(ctx, "t", 5)
	_, _ = store.Stats(ctx, "", 5)
	_, _ = store.Job(ctx, domain.JobID{1}, "")
	_ = store.Beat(ctx, domain.RunnerInfo{ID: "r", Kinds: []string{"k"}}, 1)
	_ = store.Leave(ctx, "r")
	_, _ = store.Held(ctx, domain.Slot{Key: "l:g:k"}, 5)
	_, _ = store.BlockedKeys(ctx, "l:g:k", 5)
	_, _ = store.Chains(ctx, "c0:k", 5)
	_, _ = store.Declared(ctx, "k", 5)
	_, _ = store.Wake(ctx, []string{"l:g:k", "m0:k"})
	_, _ = store.Expire(ctx, 5)
	_, _ = store.Reap(ctx, driven.ReapRequest{Limit: 5})
	batch, key := domain.BatchID{1}, domain.ScheduleKey{Tenant: "t", Name: "n"}
	_, _ = store.Batch(ctx, batch, "t")
	_, _ = store.ListBatches(ctx, domain.BatchFilter{Tenant: "t"}, domain.BatchPage{Before: batch})
	_, _ = store.OpenBatches(ctx, batch, 5)
	_, _ = store.FinishBatches(ctx, []domain.BatchID{batch})
	_, _ = store.PruneBatches(ctx, driven.PruneRequest{Tenant: "t", Limit: 5})
	_, _ = store.Schedule(ctx, key)
	_, _ = store.ListSchedules(ctx, "t", key, 5)
	_, _ = store.DueSchedules(ctx, []string{"k"}, 5)
	_ = store.DeclareSchedules(ctx, "app", nil)
	if len(s.asked) < 23 {
		t.Fatalf("only %d statements were run", len(s.asked))
	}
	for _, a := range s.asked {
		for i, arg := range a.args {
			if value, plain := arg.(string); plain {
				t.Errorf("parameter %d is the string %q in %s", i+1, value, a.text)
			}
			if _, text := arg.(mssql.NVarCharMax); text != strings.Contains(a.text, asText(fmt.Sprint("@p", i+1))) {
				t.Errorf("parameter %d is a %T in %s", i+1, arg, a.text)
			}
		}
		waits := strings.Contains(a.text, "[rowlock_jobs] AS j WHERE")
		if waits && !strings.Contains(a.text, "j.id = @p") {
			t.Errorf("a look waits for who changes a row: %s", a.text)
		}
	}
}

// TestAlone asks what the server can do, then takes the lock, then makes the
// schema, then works; all in one transaction.
func TestAlone(t *testing.T) {
	page := int64(utf8Page)
	answer := func(text string, _ []any) ([][][]driver.Value, error) {
		switch {
		case strings.Contains(text, "COLLATIONPROPERTY"):
			return [][][]driver.Value{{{page, int64(150)}}}, nil
		case strings.Contains(text, "sys.tables"):
			return [][][]driver.Value{{{int64(1)}}}, nil
		}
		return nil, nil
	}
	b, s := talk(t, answer)
	if _, err := b.Schema.Up(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for len(s.asked) > 0 && !strings.Contains(s.asked[0].text, "COLLATIONPROPERTY") {
		s.asked = s.asked[1:] // whether there is anything to do
	}
	want := []string{"COLLATIONPROPERTY", "sys.sp_getapplock @Resource = N'rowlock migrate [dbo].[rowlock_]'", "sys.schemas", "CREATE SCHEMA [dbo]", "sys.tables"}
	for i, part := range want {
		if !strings.Contains(s.asked[i].text, part) {
			t.Errorf("statement %d is %q, want %q in it", i+1, s.asked[i].text, part)
		}
	}
	page = 1252
	_, err := b.Schema.Up(t.Context(), 1)
	wantCode(t, err, domain.Unsupported)
	if !strings.Contains(domain.HintOf(err), "2019") {
		t.Errorf("the hint is %q", domain.HintOf(err))
	}
}

func TestAfterClose(t *testing.T) {
	b, s := talk(t, func(string, []any) ([][][]driver.Value, error) { return nil, nil })
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	_, err := b.Store.Job(t.Context(), domain.JobID{1}, "")
	wantCode(t, err, domain.Unavailable)
	wantCode(t, b.Store.Leave(t.Context(), "r"), domain.Unavailable)
	if len(s.asked) != 0 {
		t.Error("a closed store asked the server")
	}
}
