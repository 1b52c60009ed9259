package pgstore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/pgstore"
	"github.com/rowlock/rowlock/adapters/driven/memstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
	"github.com/rowlock/rowlock/test/storekit"
)

// hint is a Hint whose payload is the queue's bare name.
func hint(queues []string) (text string, args []any) {
	list, _ := json.Marshal(queues)
	return "SELECT pg_notify('heard', '<' || q || '>') FROM json_array_elements_text($1::text::json) AS q", []any{string(list)}
}

// scene is a store whose hints somebody hears, and a host beside it.
type scene struct {
	t   *testing.T
	b   driven.Backend
	db  *sql.DB
	ear *pgx.Conn
}

func newScene(t *testing.T, h pgstore.Hint) *scene {
	dsn := servers.With(servers.Postgres(t), servers.Param("default_query_exec_mode", "exec"))
	s := &scene{t: t, db: servers.Open(t, dsn)}
	var err error
	if s.b, err = pgstore.FromDB(s.db, pgstore.Config{Hint: h}); err != nil {
		t.Fatal(err)
	}
	up(t, s.b)
	if s.ear, err = pgx.Connect(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.ear.Close(context.WithoutCancel(t.Context())) })
	if _, err := s.ear.Exec(t.Context(), "LISTEN heard"); err != nil {
		t.Fatal(err)
	}
	return s
}

// begin opens a transaction of the host's, whose commit notifies.
func (s *scene) begin() (*sql.Tx, driven.Inserter) {
	s.t.Helper()
	tx, err := s.db.BeginTx(s.t.Context(), nil)
	s.ok(err)
	in, err := s.b.Tx.Bind(pgstore.NotifyTx(tx))
	s.ok(err)
	return tx, in
}

func (s *scene) put(in driven.Inserter, jobs ...domain.NewJob) {
	s.t.Helper()
	_, err := in.Insert(s.t.Context(), jobs)
	s.ok(err)
}

func (s *scene) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err, errors.Unwrap(err))
	}
}

// heard is all that was heard so far: hints come in the order of the commits, so the
// one that is sent now is the last.
func (s *scene) heard() (heard []string) {
	s.t.Helper()
	_, err := s.db.ExecContext(s.t.Context(), "SELECT pg_notify('heard', 'now')")
	s.ok(err)
	for {
		note, err := s.ear.WaitForNotification(s.t.Context())
		s.ok(err)
		if note.Payload == "now" {
			return heard
		}
		heard = append(heard, note.Payload)
	}
}

func (s *scene) hears(what string, want ...string) {
	s.t.Helper()
	if got := s.heard(); !slices.Equal(got, want) {
		s.t.Errorf("%s: %q were heard, want %q", what, got, want)
	}
}

// of makes jobs of a queue.
func of(queue string, n int, set func(*domain.NewJob)) []domain.NewJob {
	jobs := storekit.Jobs(n)
	for i := range jobs {
		if jobs[i].Queue = queue; set != nil {
			set(&jobs[i])
		}
	}
	return jobs
}

// TestNotifyTx: one hint a queue at the commit, however many jobs and calls; none
// before, none when it is rolled back, none where nothing is to do soon.
func TestNotifyTx(t *testing.T) {
	s := newScene(t, hint)
	tx, in := s.begin()
	s.put(in, slices.Concat(of("mail", 700, nil), of("Mail ", 3, nil), of("mail", 2, nil))...)
	s.put(in, slices.Concat(of("mail", 1, nil), of(`日本:"x'`, 1, nil))...)
	s.hears("before the commit")
	s.ok(tx.Commit())
	s.hears("after the commit", "<Mail >", "<mail>", `<日本:"x'>`)

	tx, in = s.begin()
	s.put(in, of("mail", 2, nil)...)
	s.ok(tx.Rollback())
	s.hears("after the rollback")

	unique := func(how domain.OnConflict) func(*domain.NewJob) {
		return func(j *domain.NewJob) { j.Unique = &domain.Unique{Key: "k", OnConflict: how} }
	}
	s.put(s.b.Store, of("mail", 1, unique(domain.Skip))...)
	tx, in = s.begin()
	s.put(in, of("mail", 1, unique(domain.Skip))...)
	s.put(in, of("later", 1, func(j *domain.NewJob) { j.Due.After = time.Hour })...)
	s.ok(tx.Commit())
	s.hears("a held key and a delay")

	tx, in = s.begin()
	s.put(in, of("other", 1, unique(domain.Reschedule))...)
	s.put(in, of("soon", 1, func(j *domain.NewJob) { j.Due.After = time.Second })...)
	s.put(in, of("then", 1, func(j *domain.NewJob) { j.Due.At = time.Now() })...)
	s.ok(tx.Commit())
	s.hears("a moved holder and what is due soon", "<>", "<soon>", "<then>")

	tx, err := s.db.BeginTx(t.Context(), nil)
	s.ok(err)
	in, err = s.b.Tx.Bind(pgstore.Tx(tx))
	s.ok(err)
	s.put(in, of("mail", 1, nil)...)
	s.ok(tx.Commit())
	s.hears("a commit that was not to notify")
}

// TestNotifyTxOfASavepoint: what the host takes back itself nobody hears of.
func TestNotifyTxOfASavepoint(t *testing.T) {
	s := newScene(t, hint)
	tx, in := s.begin()
	s.put(in, of("a", 1, nil)...)
	for _, step := range []string{"SAVEPOINT own", "ROLLBACK TO SAVEPOINT own"} {
		_, err := tx.ExecContext(t.Context(), step)
		s.ok(err)
		if step == "SAVEPOINT own" {
			s.put(in, of("b", 1, nil)...)
		}
	}
	s.put(in, of("a", 1, nil)...)
	s.ok(tx.Commit())
	s.hears("after a savepoint was taken back", "<a>")
}

// TestNotifyThatFails: the call is refused and leaves nothing; what the transaction
// held before stays and is committed.
func TestNotifyThatFails(t *testing.T) {
	for what, k := range map[string]struct {
		text string
		code domain.Code
		hint string
	}{
		"a payload that is too long": {"SELECT pg_notify('heard', repeat('x', 8000))", domain.Invalid, "refused a value"},
		"no channel":                 {"SELECT pg_notify('', '')", domain.Invalid, "refused a value"},
		"a right that is missing":    {"DO $$BEGIN RAISE insufficient_privilege; END$$", domain.Denied, "use Tx"},
		"a server without it":        {"SELECT pg_notify_of_another_server('heard', '')", domain.Unsupported, "use Tx"},
	} {
		s := newScene(t, func([]string) (string, []any) { return k.text, nil })
		tx, in := s.begin()
		before, err := s.b.Tx.Bind(pgstore.Tx(tx))
		s.ok(err)
		first := of("q", 1, nil)
		s.put(before, first...)
		_, err = in.Insert(t.Context(), of("q", 3, nil))
		wantCode(t, what, err, k.code, k.hint)
		s.put(before, of("q", 1, nil)...)
		s.ok(tx.Commit())
		s.hears(what)
		if got := storekit.Claim(t, s.b, 10); len(got) != 2 || got[0].Job.ID != first[0].ID {
			t.Errorf("%s: %d jobs are there, want the two that were not refused", what, len(got))
		}
	}
}

// TestNotifyTxWithoutAWay: a store that cannot tell others says so, and where to look.
func TestNotifyTxWithoutAWay(t *testing.T) {
	s := newScene(t, nil)
	tx, err := s.db.BeginTx(t.Context(), nil)
	s.ok(err)
	defer func() { _ = tx.Rollback() }()
	_, err = s.b.Tx.Bind(pgstore.NotifyTx(tx))
	wantCode(t, "no way to tell", err, domain.Unsupported, "Config.Hint")
	_, err = newScene(t, hint).b.Tx.Bind(pgstore.NotifyTx(nil))
	wantCode(t, "no transaction", err, domain.Invalid, "open transaction")
	memory, err := memstore.Open(memstore.Config{Now: system.Clock().Now})
	s.ok(err)
	_, err = memory.Tx.Bind(pgstore.NotifyTx(tx))
	wantCode(t, "a transaction of another store", err, domain.Invalid, "")
}
