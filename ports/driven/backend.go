package driven

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Backend is one opened store with what it can do: a capability is a non-nil field.
type Backend struct {
	Name   string // e.g. "sqlite"
	Limits Limits
	Store  Store
	Tx     TxBinder     // nil: no enqueue in the host's transaction
	Notify Notifier     // nil: other processes are noticed by polling
	Pool   func() int   // how many connections it has at most, 0 for no bound; nil: it cannot say
	Schema Migrator     // nil: there is nothing to install
	Close  func() error // never nil; frees what Open acquired, idempotent
}

// Limits tells what a store cannot do better. They are data: the application asks them.
type Limits struct {
	AtomicBulk bool // Insert of many rows is all or nothing
}

// HostTx is a transaction of the host's, made only by a typed function of the
// adapter (sqlitestore.Tx); the application passes it through unread. What only one
// store can do with a transaction, such as waking others by its commit, its handle says.
type HostTx interface{ HostTx() string }

// TxBinder is for writing in the host's own transaction.
type TxBinder interface {
	// Bind gives an Inserter inside the transaction: rolled back, the rows were
	// never there (hosttx/rollback). A handle of another adapter is Invalid
	// (hosttx/foreign). It is never retried.
	Bind(HostTx) (Inserter, error)
}

// Notifier is for waking others. It may lose a hint: polling alone is correct.
type Notifier interface {
	// Notify hints that the queues may hold due jobs; "" is any queue. It never
	// blocks for long.
	Notify(queues ...string)
	// Listen calls hear for every hint until the context ends. hear must not block. Where
	// hints are lost until it listens it says "" first, for whoever came meanwhile.
	Listen(ctx context.Context, hear func(queue string)) error
}

// Migrator is for installing the schema. Any number of callers at once, killed
// anywhere, end in the right schema; a step is recorded only on success (migrate/*).
type Migrator interface {
	// Up applies the steps up to the given number, 0 for all, and lists what it applied.
	Up(ctx context.Context, to int) ([]Step, error)
	// Down takes back the steps above the given number.
	Down(ctx context.Context, to int) ([]Step, error)
	// Status lists every step, in order.
	Status(ctx context.Context) ([]Step, error)
	// Print gives the statements of a step, or of all with 0, as text.
	Print(step int) (string, error)
}

// Step is one migration.
type Step struct {
	Number    int
	Name      string
	AppliedAt time.Time // zero: not applied
}

// Clock is for ids, display and history. No moment of it enters a lease, slot or due predicate.
type Clock interface{ Now() time.Time }

// IDs is for making identifiers.
type IDs interface {
	// NewJobID makes a UUIDv7; ids of one process rise in the order they are made.
	NewJobID() domain.JobID
	// NewBatchID makes a UUIDv7 of the same sort.
	NewBatchID() domain.BatchID
	// NewToken makes a fresh token.
	NewToken() domain.Token
	// NewRunnerID makes a name that no other process start has, at most domain.MaxRunner bytes.
	NewRunnerID() string
}

// Observer is for telling what happened. Observe must not block and must not keep the event's error.
type Observer interface{ Observe(domain.Event) }
