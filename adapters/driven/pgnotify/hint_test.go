package pgnotify_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/adapters/driven/pgnotify"
	"github.com/rowlock/rowlock/test/servers"
)

// hintIn runs one transaction that hints by several calls, each in a savepoint.
func hintIn(t *testing.T, conn *pgx.Conn, n *pgnotify.Notifier, commit bool, calls ...[]string) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end := tx.Commit
	if !commit {
		end = tx.Rollback
	}
	exec := func(text string, args ...any) {
		t.Helper()
		if _, err := tx.Exec(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, queues := range calls {
		exec("SAVEPOINT s")
		text, args := n.Hint(queues)
		exec(text, args...)
		exec("RELEASE SAVEPOINT s")
	}
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// until lists what is heard, once each, before the last word.
func (e ear) until(t *testing.T, last string) (heard []string) {
	t.Helper()
	for late := time.After(patience); ; {
		select {
		case queue := <-e.heard:
			switch queue {
			case "ready":
			case last:
				return heard
			default:
				heard = append(heard, queue)
			}
		case <-late:
			t.Fatalf("nobody heard of queue %q", last)
		}
	}
}

// TestHintInATransaction: all who listen for the name hear it once when the transaction
// commits, and nobody of one that is rolled back; also where it goes through a pooler.
func TestHintInATransaction(t *testing.T) {
	direct := servers.Postgres(t)
	pooled := servers.PgBouncer(t)
	for what, dsn := range map[string]struct{ host, listener string }{
		"direct": {direct, direct}, "through a pooler": {pooled, servers.Around(t, pooled)},
	} {
		t.Run(what, func(t *testing.T) {
			a, b, stranger := open(t, dsn.listener, "n"), open(t, dsn.listener, "n"), open(t, dsn.listener, "other")
			own, e, other := listen(t, a), listen(t, b), listen(t, stranger)
			own.hears(t, b, "ready")
			e.hears(t, a, "ready")
			other.hears(t, open(t, dsn.listener, "other"), "ready")
			conn, err := pgx.Connect(t.Context(), servers.With(dsn.host, servers.Param("default_query_exec_mode", "exec")))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
			names := []string{"mail", "Mail ", "日本:x", `it's "q"\`, ""}
			hintIn(t, conn, a, false, []string{"gone"})
			hintIn(t, conn, a, true, names, []string{"mail"}, names)
			hintIn(t, conn, a, true, []string{"last"})
			for _, listener := range []ear{own, e} {
				if got := listener.until(t, "last"); !slices.Equal(got, names) {
					t.Errorf("heard %q, want %q", got, names)
				}
			}
			hintIn(t, conn, stranger, true, []string{"end"})
			if got := other.until(t, "end"); len(got) > 0 {
				t.Errorf("one of another name heard %q", got)
			}
		})
	}
}
