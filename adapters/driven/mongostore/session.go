package mongostore

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Session hands over a session of the host's, in whose transaction jobs are
// enqueued. It must be of the store's own client and have a transaction open. A
// write that conflicts there ends the transaction on the server: the answer is
// Contended, and the host runs the whole again. A stand-alone server has no
// transactions: its backend has no Tx, so such an enqueue is Unsupported.
func Session(session *mongo.Session) driven.HostTx { return hostTx{session} }

type hostTx struct{ session *mongo.Session }

// HostTx names the adapter.
func (hostTx) HostTx() string { return "mongo" }

// binder opens the host's transactions for inserts.
type binder struct{ s *store }

var _ driven.TxBinder = binder{}

// Bind refuses handles of other adapters and sessions of other clients.
func (b binder) Bind(h driven.HostTx) (driven.Inserter, error) {
	tx, ok := h.(hostTx)
	if !ok || tx.session == nil || tx.session.Client() != b.s.client {
		return nil, &domain.Fault{Code: domain.Invalid, Op: "bind transaction", Hint: "give mongostore.Session a session of the client that the store was opened with"}
	}
	return bound{b.s, tx.session}, nil
}

// bound inserts in a host's transaction.
type bound struct {
	s       *store
	session *mongo.Session
}

// Insert looks before it writes: a key that is found held must not end the host's
// transaction, as the refusal of a write would.
func (b bound) Insert(ctx context.Context, jobs []domain.NewJob) (res []driven.Inserted, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	err = b.s.inserting(ctx, jobs, func(ctx context.Context, now int64) error {
		in := newIntake(jobs, now)
		res = in.res
		ctx = mongo.NewSessionContext(ctx, b.session)
		if err := b.s.joinInTx(ctx, in); err != nil {
			return err
		}
		again, err := b.s.attempt(ctx, in, true)
		if err == nil && again {
			err = &domain.Fault{Code: domain.Contended, Op: "insert", Hint: "an id or unique key was taken meanwhile, which ends the transaction: run it again"}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}
