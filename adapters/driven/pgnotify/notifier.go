package pgnotify

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Config says where to listen and for whom.
type Config struct {
	DSN string // a postgres:// URL or libpq's key=value form; not one of a pooler
	// Name is that of the queue's tables: who gives the same one, in the same
	// database, hears one another.
	Name string
	// Watch is how long a silent listener is believed alive before the server is
	// asked, which has half as long to answer; 0 is 10 s.
	Watch time.Duration
}

const (
	defaultWatch = 10 * time.Second
	answerTime   = 5 * time.Second // how long a connect or a send may take
)

// Notifier is a driven.Notifier. It is safe for concurrent use.
type Notifier struct {
	conn    *pgx.ConnConfig
	watch   time.Duration
	channel string
	self    string // tells apart what this one sent
	sender  *sender
}

var _ driven.Notifier = (*Notifier)(nil)

// New reads the DSN; it connects when there is something to hear or to send.
func New(cfg Config) (*Notifier, error) {
	conn, err := pgx.ParseConfig(cfg.DSN)
	if err != nil {
		return nil, &domain.Fault{Code: domain.Invalid, Op: "open listener", Hint: "the DSN cannot be read", Err: err}
	}
	conn.ConnectTimeout = answerTime
	conn.DefaultQueryExecMode = pgx.QueryExecModeExec
	if cfg.Watch == 0 {
		cfg.Watch = defaultWatch
	}
	var self [6]byte
	_, _ = rand.Read(self[:]) // it ends the process where there is no randomness
	n := &Notifier{conn: conn, watch: cfg.Watch, channel: channelOf(cfg.Name), self: hex.EncodeToString(self[:])}
	n.sender = newSender(n)
	return n, nil
}

// channelOf is short whatever the name is, and needs no quotes.
func channelOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "rowlock_" + hex.EncodeToString(sum[:12])
}

// Notify leaves the hints to a sender and never waits for it. Hints for the same
// queue that come while others are sent are one.
func (n *Notifier) Notify(queues ...string) { n.sender.add(queues) }

// Hint is the statement that hints at queues inside somebody else's transaction, by
// arguments that are texts; pgstore.Config takes it. All who listen hear it when that
// transaction commits, those of this Notifier too: its moment is not known here. Hints
// that are equal, of one transaction, are one.
func (n *Notifier) Hint(queues []string) (text string, args []any) {
	list, _ := json.Marshal(queues) // a list of texts is always JSON
	const hint = "SELECT pg_notify($1::text, ':' || q) FROM json_array_elements_text($2::text::json) AS q"
	return hint, []any{n.channel, string(list)}
}

// Close ends the sending; hints that come later are lost.
func (n *Notifier) Close() error {
	n.sender.close()
	return nil
}

// Listen hears what others of the name send, until the context ends or the
// connection is lost, which it tells. Once it listens it hints at any queue, for what
// was sent before is lost.
func (n *Notifier) Listen(ctx context.Context, hear func(queue string)) error {
	const op = "listen"
	conn, err := n.connect(ctx)
	if err != nil {
		return fault(ctx, op, err)
	}
	defer drop(ctx, conn)
	if _, err := conn.Exec(ctx, "LISTEN "+n.channel); err != nil {
		return fault(ctx, op, err)
	}
	hear("")
	for {
		note, err := n.next(ctx, conn)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fault(ctx, op, err)
		case note == nil:
			continue
		}
		if from, queue, ok := strings.Cut(note.Payload, ":"); ok && from != n.self {
			hear(queue)
		}
	}
}

// next waits for one hint. When it was silent for a while the server is asked
// whether it is still there: a connection may die without a word.
func (n *Notifier) next(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	wait, cancel := context.WithTimeout(ctx, n.watch)
	defer cancel()
	note, err := conn.WaitForNotification(wait)
	if err == nil || wait.Err() == nil || ctx.Err() != nil {
		return note, err
	}
	asked, done := context.WithTimeout(ctx, n.watch/2)
	defer done()
	return nil, conn.Ping(asked)
}

func (n *Notifier) connect(ctx context.Context) (*pgx.Conn, error) {
	bounded, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return pgx.ConnectConfig(bounded, n.conn.Copy())
}

// drop closes a connection that may be dead.
func drop(ctx context.Context, conn *pgx.Conn) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(bounded)
}

func fault(ctx context.Context, op string, err error) error {
	var refused *pgconn.PgError
	f := &domain.Fault{Code: domain.Unavailable, Op: op, Hint: "the server cannot be reached; hints are lost until it can", Err: err}
	switch {
	case ctx.Err() != nil:
		f.Code, f.Hint = domain.Canceled, "the context ended"
	case errors.As(err, &refused):
		f.Hint = "the server refused with SQLSTATE " + refused.Code + "; hints are lost until it does not"
	}
	return f
}
