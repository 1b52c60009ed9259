package mssqlstore

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// bounds is a server with one kind, whose limit is one.
type bounds struct {
	id      domain.JobID
	refused int  // how often the take of a slot is refused for its key
	held    bool // the slot is another's
	asked   int
}

func (b *bounds) answer(text string, _ []any) ([][][]driver.Value, error) {
	switch {
	case strings.Contains(text, "DECLARE @a TABLE (nth"):
		b.asked++
		if b.refused--; b.refused >= 0 {
			return nil, mssql.Error{Number: 2627}
		}
		if b.held {
			return nil, nil
		}
		return [][][]driver.Value{{{[]byte("l:g:"), int64(0), b.id[:]}}}, nil
	case strings.Contains(text, "b.sort, b.grp"):
		return [][][]driver.Value{{{int64(0), []byte("g"), int64(3)}}}, nil
	case strings.Contains(text, "[rowlock_bounds] AS j"):
		return [][][]driver.Value{{{[]byte("k"), int64(0), []byte("g"), int64(1), int64(0), int64(0)}}}, nil
	case strings.Contains(text, "SELECT o.bound, (SELECT count(*)"):
		return [][][]driver.Value{{{[]byte("l:g:"), int64(1)}}}, nil
	case strings.Contains(text, "SELECT x.id, x.blocked_on"):
		return [][][]driver.Value{{{b.id[:], []byte("l:g:"), []byte("q")}}}, nil
	case strings.Contains(text, "SET state = 2"), strings.Contains(text, "SET state = 0, blocked_on = NULL"):
		return [][][]driver.Value{{{nil}}}, nil
	}
	return nil, nil
}

func (b *bounds) request() driven.AdmitRequest {
	return driven.AdmitRequest{Wants: []driven.Want{{Ticket: domain.Ticket{ID: b.id, Token: domain.Token{1}}, Kind: "k", Limit: true}}}
}

// TestTakeAgain has a claim get its slot where two wanted to add one: the statement
// that the key refused is asked again, for a bounded while.
func TestTakeAgain(t *testing.T) {
	server := &bounds{id: domain.JobID{7}, refused: 3}
	b, s := talk(t, server.answer)
	got, err := b.Store.Admit(t.Context(), server.request())
	if err != nil || len(got.Admitted) != 1 || got.Admitted[0].Slots[0].Slot != (domain.Slot{Key: "l:g:"}) || server.asked != 4 {
		t.Fatalf("answered %+v after %d statements: %v", got, server.asked, err)
	}
	for _, a := range s.texts("DECLARE @a TABLE (nth") {
		want := fmt.Sprintf(`[["l:g:",0,"%x","%x",0]]`, server.id[:], []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
		if rows, ok := a.args[1].(mssql.NVarCharMax); !ok || string(rows) != want {
			t.Errorf("asked with %T %v, want %s", a.args[1], a.args[1], want)
		}
	}
	server = &bounds{id: domain.JobID{7}, refused: 1000}
	b, _ = talk(t, server.answer)
	_, err = b.Store.Admit(t.Context(), server.request())
	wantCode(t, err, domain.Contended)
	if server.asked != insertTries {
		t.Errorf("tried %d times, want %d", server.asked, insertTries)
	}
}

// TestParkAndWake parks a claim that got no slot, and wakes as many as there is room
// for, by one statement for all keys.
func TestParkAndWake(t *testing.T) {
	server := &bounds{id: domain.JobID{7}, held: true}
	b, s := talk(t, server.answer)
	got, err := b.Store.Admit(t.Context(), server.request())
	if err != nil || len(got.Admitted) != 0 || len(got.Parked) != 1 || got.Parked[0].Key != "l:g:" || len(got.Wake) != 1 {
		t.Fatalf("answered %+v: %v", got, err)
	}
	woken, err := b.Store.Wake(t.Context(), []string{"l:g:"})
	if err != nil || woken.Jobs != 1 || woken.Queues[0] != "q" {
		t.Fatalf("woke %+v: %v", woken, err)
	}
	asked := s.texts("SELECT x.id, x.blocked_on")
	if len(asked) != 1 || asked[0].args[0] != mssql.NVarCharMax(`[["l:g:",2]]`) {
		t.Errorf("asked for waiters by %+v", asked)
	}
}
