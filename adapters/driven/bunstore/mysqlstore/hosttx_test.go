package mysqlstore_test

import (
	"database/sql"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/storekit"
)

// TestHostTxSeesWhoHolds: a transaction of the host's that began to read before
// another one took a key is told who holds it, though it cannot see that row.
func TestHostTxSeesWhoHolds(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted, sql.LevelSerializable} {
		t.Run(level.String(), func(t *testing.T) {
			onEach(t, func(t *testing.T, p product) { hostTxSees(t, p.dsn(t), level) })
		})
	}
}

func hostTxSees(t *testing.T, dsn string, level sql.IsolationLevel) {
	b, _ := one(t, dsn)
	db := hostDB(t, dsn, nil)
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	if err := tx.QueryRow("SELECT COUNT(*) FROM rowlock_jobs WHERE priority > 100").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if level == sql.LevelSerializable { // its read locks the table
		_ = tx.Rollback()
		if tx, err = db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level}); err != nil {
			t.Fatal(err)
		}
	}
	holder := storekit.Jobs(1)
	holder[0].Unique = &domain.Unique{Key: "k"}
	if _, err := b.Store.Insert(t.Context(), holder); err != nil {
		t.Fatal(err)
	}
	in := storekit.Jobs(3)
	in[1].Unique = &domain.Unique{Key: "k"}
	got := inTx(t, b, mysqlstore.Tx(tx), in)
	if got[1].ID != holder[0].ID || got[1].Result != domain.Existing || got[0].Result != domain.InsertedNew {
		t.Errorf("answers %+v, want the holder %s", got, holder[0].ID)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	storekit.IsIn(t, b.Store, in[2].ID, domain.Ready)()
}

// TestHostTxMovesWhoHolds: it may also change that job, and where it may not, since
// that came after it began to read, it is told to begin again.
func TestHostTxMovesWhoHolds(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted} {
		t.Run(level.String(), func(t *testing.T) {
			onEach(t, func(t *testing.T, p product) { hostTxMoves(t, p.dsn(t), level) })
		})
	}
}

func hostTxMoves(t *testing.T, dsn string, level sql.IsolationLevel) {
	b, _ := one(t, dsn)
	tx, err := hostDB(t, dsn, nil).BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	if err := tx.QueryRow("SELECT COUNT(*) FROM rowlock_jobs").Scan(&n); err != nil {
		t.Fatal(err)
	}
	keyed := func(args string) []domain.NewJob {
		in := storekit.Jobs(2)
		in[0].Args, in[0].Unique = []byte(args), &domain.Unique{Key: "k", OnConflict: domain.Replace}
		return in
	}
	held, in := keyed(`{"n":1}`), keyed(`{"n":2}`)
	if _, err := b.Store.Insert(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	ins, err := b.Tx.Bind(mysqlstore.Tx(tx))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ins.Insert(t.Context(), in)
	if err != nil {
		if domain.CodeOf(err) != domain.Contended || level != sql.LevelRepeatableRead {
			t.Error(err)
		}
		return
	}
	if got[0].ID != held[0].ID || got[0].Result != domain.Replaced || got[1].Result != domain.InsertedNew {
		t.Errorf("answers %+v, want the holder %s", got, held[0].ID)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if j, err := b.Store.Job(t.Context(), held[0].ID, ""); err != nil || string(j.Args) != `{"n":2}` {
		t.Errorf("args %s: %v", j.Args, err)
	}
}

func inTx(t testing.TB, b driven.Backend, tx driven.HostTx, in []domain.NewJob) []driven.Inserted {
	t.Helper()
	ins, err := b.Tx.Bind(tx)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ins.Insert(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestHostTxOfBun: a transaction of bun's serves as one of database/sql does.
func TestHostTxOfBun(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		dsn := p.dsn(t)
		b, _ := one(t, dsn)
		tx, err := bun.NewDB(hostDB(t, dsn, nil), mysqldialect.New()).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		in := storekit.Jobs(2)
		in[0].Args = []byte(`{"text":"it's \\ \" ? ?0 $1 :x @p1 😀"}`)
		inTx(t, b, mysqlstore.Tx(tx), in)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if j, err := b.Store.Job(t.Context(), in[0].ID, ""); err != nil || string(j.Args) != string(in[0].Args) {
			t.Errorf("args %s: %v", j.Args, err)
		}
	})
}

// TestReadable: operators read names, ids, states and times as text, in UTC
// whatever their session's zone is.
func TestReadable(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		dsn := p.dsn(t)
		b, _ := one(t, dsn)
		in := storekit.Jobs(1)
		in[0].Queue, in[0].Tenant, in[0].Args = "Städte 😀", "t ", []byte(`{"a":"é"}`)
		if _, err := b.Store.Insert(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		db := hostDB(t, dsn, nil)
		db.SetMaxOpenConns(1)
		run(t, db, "SET time_zone = '+08:00'")
		var id, state, queue, tenant, args string
		var late int
		err := db.QueryRow("SELECT id, state, queue, tenant, args, ABS(TIMESTAMPDIFF(SECOND, due_utc, UTC_TIMESTAMP())) FROM rowlock_jobs_readable").
			Scan(&id, &state, &queue, &tenant, &args, &late)
		if err != nil || id != in[0].ID.String() || state != "ready" || queue != in[0].Queue || tenant != "t " || args != string(in[0].Args) || late > 600 {
			t.Errorf("%s %s %q %q %s %d s: %v", id, state, queue, tenant, args, late, err)
		}
	})
}
