package sqlitestore

import (
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// A host that enqueues beside its own transaction, which has the last connection
// of the pool, waits for itself: it is told so, and afterwards everything moves.
func TestWriterWithoutAConnection(t *testing.T) {
	n := newTable(t)
	n.db.SetMaxOpenConns(1)
	tx, err := n.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n.w.patience = 20 * time.Millisecond
	err = n.w.do(t.Context(), put(1))
	if code, hint := codeOf(err); code != domain.Unavailable || !strings.Contains(hint, "enqueue.In") {
		t.Errorf("got %v: %s, %s", err, code, hint)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := n.w.do(t.Context(), put(2)); err != nil {
		t.Error(err)
	}
	n.wantRows(2)
}
