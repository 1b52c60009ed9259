package memstore

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Tx is a host's transaction. Rows inserted in it are there for others when it
// commits, all at once, and never if it is rolled back. Ids and unique keys are
// reserved at the insert: while it is open, others who want them get Contended,
// since who has them is not decided yet. One that is never ended keeps them.
type Tx struct {
	store *store
	rows  []*row // in the order they were written
	over  bool
	taken []taken // rows that were there, which nobody else sees until the end
}

var _ driven.HostTx = (*Tx)(nil)

// Begin starts a transaction on a memory store.
func Begin(b driven.Backend) (*Tx, error) {
	own, ok := b.Tx.(binder)
	if !ok {
		return nil, &domain.Fault{
			Code: domain.Invalid, Op: "begin", Subject: domain.CleanText(b.Name, domain.MaxKey),
			Hint: "give a backend that memstore.Open made",
		}
	}
	return &Tx{store: own.store}, nil
}

// HostTx names the adapter.
func (tx *Tx) HostTx() string { return "memory" }

// Commit makes the rows visible. An ended transaction is refused.
func (tx *Tx) Commit() error {
	return tx.store.do(context.Background(), "commit", func(time.Time) error {
		if tx.over {
			return tx.ended("commit")
		}
		tx.publish()
		return nil
	})
}

// Rollback forgets the rows. After the transaction's end it does nothing, so it may be deferred.
func (tx *Tx) Rollback() error {
	tx.store.mu.Lock()
	defer tx.store.mu.Unlock()
	if !tx.over {
		tx.undo(mark{})
		tx.over = true
	}
	return nil
}

// publish ends the transaction with its rows there for all.
func (tx *Tx) publish() {
	for _, r := range tx.rows {
		r.tx = nil
		tx.store.ids.add(r)
		tx.store.place(r)
	}
	for _, t := range tx.taken {
		tx.back(t.row)
	}
	tx.rows, tx.taken, tx.over = nil, nil, true
}

// taken is a row that an insert changed, and what it was before.
type taken struct {
	row *row
	was row
}

// take has a row that is there for all to itself, to change it.
func (tx *Tx) take(r *row) {
	if r.tx == nil {
		tx.store.lift(r)
		tx.store.ids.remove(r)
	}
	tx.taken = append(tx.taken, taken{r, *r})
	r.tx = tx
}

func (tx *Tx) back(r *row) {
	if r.tx == nil {
		return
	}
	r.tx = nil
	tx.store.ids.add(r)
	tx.store.place(r)
}

// mark is where a transaction stands.
type mark struct{ rows, taken int }

func (tx *Tx) mark() mark { return mark{len(tx.rows), len(tx.taken)} }

// undo forgets what was written since, the last first.
func (tx *Tx) undo(to mark) {
	for i := len(tx.taken) - 1; i >= to.taken; i-- {
		t := tx.taken[i]
		mine := t.was.tx == tx
		if *t.row = t.was; !mine {
			t.row.tx = tx
			tx.back(t.row)
		}
	}
	for _, r := range tx.rows[to.rows:] {
		tx.store.drop(r)
	}
	clear(tx.rows[to.rows:])
	clear(tx.taken[to.taken:])
	tx.rows, tx.taken = tx.rows[:to.rows], tx.taken[:to.taken]
}

func (tx *Tx) ended(op string) error {
	return &domain.Fault{Code: domain.Invalid, Op: op, Hint: "the transaction has ended already"}
}

// binder opens host transactions for inserts.
type binder struct{ store *store }

var _ driven.TxBinder = binder{}

// Bind refuses handles of other adapters and of other memory stores.
func (b binder) Bind(h driven.HostTx) (driven.Inserter, error) {
	tx, ok := h.(*Tx)
	if !ok || tx == nil || tx.store != b.store {
		return nil, &domain.Fault{
			Code: domain.Invalid, Op: "bind transaction",
			Hint: "give a transaction of this very store, made by memstore.Begin",
		}
	}
	return bound{tx}, nil
}

// bound inserts in a host's transaction.
type bound struct{ tx *Tx }

func (b bound) Insert(ctx context.Context, jobs []domain.NewJob) (answers []driven.Inserted, err error) {
	err = b.tx.store.do(ctx, opInsert, func(now time.Time) error {
		if b.tx.over {
			return b.tx.ended(opInsert)
		}
		answers, err = b.tx.insert(jobs, now)
		return err
	})
	return answers, err
}
