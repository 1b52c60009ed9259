package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Hint gives the statement that hints at queues, "" being any, inside a transaction:
// whoever listens hears it when that commits, and never if it is rolled back. Its
// arguments are texts, which every driver binds.
type Hint func(queues []string) (text string, args []any)

// NotifyTx is Tx, and the commit wakes the runners of all processes at once, whenever
// it comes; rolled back, nobody is woken. It is one statement more a call, and one hint
// a queue however many jobs and calls there are.
//
// It has a price: a commit with a NOTIFY in it takes a lock of the whole server, every
// database of it, and holds it while the commit is written to disk. 16 clients that
// made 20,500 such transactions a second made 5,000. So take it where a job must begin
// within milliseconds of a transaction that may stay open for longer than half a
// second, and Tx where there are many: this process asks again 20 to 500 ms after the
// write and tells the others, and who is not told polls.
//
// Jobs that are delayed by more than a minute are not hinted at. It needs
// Config.Hint, which a store that was opened by its DSN has; without it an enqueue is
// refused as Unsupported. So it is where the server has no NOTIFY, and as Denied where it
// refuses it to this user: the call then left nothing in the transaction, which goes on.
// PREPARE TRANSACTION takes no NOTIFY.
func NotifyTx(tx bun.IConn) driven.HostTx { return notifyTx{Tx(tx)} }

// notifyTx is a transaction whose commit is to be heard.
type notifyTx struct{ of driven.HostTx }

// HostTx says whose handle it is.
func (t notifyTx) HostTx() string { return t.of.HostTx() }

// binder binds transactions of both sorts.
type binder struct {
	s    *bunstore.Store
	hint Hint
}

var _ driven.TxBinder = binder{}

func (b binder) Bind(h driven.HostTx) (driven.Inserter, error) {
	n, ok := h.(notifyTx)
	if !ok {
		return b.s.Bind(h)
	}
	if b.hint == nil {
		return nil, &domain.Fault{
			Code: domain.Unsupported, Op: "bind transaction", Subject: "NotifyTx",
			Hint: "the store knows no way to tell others: set Config.Hint to the Hint of the pgnotify.Notifier that they listen by, or use Tx",
		}
	}
	return b.s.BindThen(n.of, b.tell)
}

// tell hints at the queues that an insert gave something to do.
func (b binder) tell(ctx context.Context, c bunstore.Conn, jobs []domain.NewJob, done []driven.Inserted) error {
	queues := awaited(jobs, done)
	if len(queues) == 0 {
		return nil
	}
	text, args := b.hint(queues)
	_, err := c.ExecContext(ctx, text, args...)
	switch sqlState(err) {
	case "42501":
		return refuses(domain.Denied, "the server refuses NOTIFY to this user: use Tx", err)
	case "42883", "0A000": // it only speaks PostgreSQL's protocol
		return refuses(domain.Unsupported, "the server has no NOTIFY: use Tx", err)
	}
	return err
}

func refuses(code domain.Code, hint string, err error) error {
	return &domain.Fault{Code: code, Op: "notify in the host's transaction", Hint: hint, Err: err}
}

// later is how far ahead nobody need be told of a job: whoever polls finds it in time.
const later = time.Minute

// awaited lists the queues that hold something new, or moved, in a fixed order. A moved
// job may be in another queue than the one that was to be added. When a moment lies
// ahead only the server can say, so such a job is hinted at.
func awaited(jobs []domain.NewJob, done []driven.Inserted) []string {
	var queues []string
	for i := range jobs {
		switch {
		case done[i].Result == domain.Existing || jobs[i].Due.After > later:
		case done[i].Result == domain.Rescheduled:
			queues = append(queues, "")
		default:
			queues = append(queues, jobs[i].Queue)
		}
	}
	slices.Sort(queues)
	return slices.Compact(queues)
}
