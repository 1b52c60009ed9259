package bunstore

import (
	"context"
	"database/sql"

	"github.com/uptrace/bun"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// hostTx is a transaction of the host's.
type hostTx struct {
	name string
	conn Conn
}

// HostTx says whose handle it is.
func (t hostTx) HostTx() string { return t.name }

// Tx wraps a transaction of the host's for the store of that name: *sql.Tx,
// bun.Tx, or the host's own type around one, which must bind its arguments.
// A pool or a bare connection is no transaction; Bind refuses it.
func Tx(name string, tx bun.IConn) driven.HostTx {
	t := hostTx{name: name, conn: tx}
	switch tx := tx.(type) {
	case bun.Tx: // its own ExecContext would write the values into the text
		t.conn = nil
		if tx.Tx != nil {
			t.conn = tx.Tx
		}
	case *bun.Tx:
		t.conn = nil
		if tx != nil && tx.Tx != nil {
			t.conn = tx.Tx
		}
	case *sql.Tx:
		if tx == nil {
			t.conn = nil
		}
	case nil, *sql.DB, *sql.Conn, *bun.DB, bun.Conn, *bun.Conn:
		t.conn = nil
	}
	return t
}

// Then is what a dialect does after each insert in a host's transaction. It runs in
// the insert's savepoint: where it fails, the rows of that call are undone too.
type Then func(ctx context.Context, c Conn, jobs []domain.NewJob, done []driven.Inserted) error

// Bind gives an inserter inside the host's transaction.
func (s *Store) Bind(h driven.HostTx) (driven.Inserter, error) { return s.BindThen(h, nil) }

// BindThen is Bind, and then is done after each insert; nil is nothing.
func (s *Store) BindThen(h driven.HostTx, then Then) (driven.Inserter, error) {
	t, ok := h.(hostTx)
	if !ok || t.name != s.d.Name || t.conn == nil {
		return nil, &domain.Fault{
			Code: domain.Invalid, Op: "bind transaction",
			Hint: "give an open transaction of this store's database, wrapped by the Tx function of this store's package",
		}
	}
	return &bound{s: s, c: t.conn, then: then}, nil
}

// bound inserts in the host's transaction. It never retries.
type bound struct {
	s    *Store
	c    Conn
	then Then // nil: nothing more
}

// Insert writes inside a savepoint, so that a refused call leaves no row behind
// and the host's transaction usable.
func (b *bound) Insert(ctx context.Context, jobs []domain.NewJob) (res []driven.Inserted, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	res, err = b.insert(ctx, jobs)
	if err != nil {
		return nil, b.s.faultOf(ctx, "insert in the host's transaction", err, b.read)
	}
	return res, nil
}

// read asks in the transaction itself: the host's pool may have no other connection.
func (b *bound) read(ctx context.Context, w Work) error { return w(ctx, b.c) }

func (b *bound) insert(ctx context.Context, jobs []domain.NewJob) (res []driven.Inserted, err error) {
	save := b.s.d.Save
	if _, err := b.c.ExecContext(ctx, save[0]); err != nil {
		return nil, err
	}
	res, err = b.s.insert(ctx, b.c, newRows(jobs), true)
	if err == nil && b.then != nil {
		err = b.then(ctx, b.c, jobs, res)
	}
	if err != nil {
		_, _ = b.c.ExecContext(ctx, save[1]) // the first error is the one to tell
	}
	if save[2] == "" {
		return res, err
	}
	if _, e := b.c.ExecContext(ctx, save[2]); err == nil {
		err = e
	}
	return res, err
}
