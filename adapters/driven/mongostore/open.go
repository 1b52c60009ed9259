package mongostore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Config is what a store needs.
type Config struct {
	URI              string           // mongodb:// or mongodb+srv://; FromClient has no use for it
	Database         string           // "" is the URI's own, else "rowlock"
	CollectionPrefix string           // "" is "rowlock_"
	Now              func() time.Time // tests only: the store's clock; nil is the server's own
}

// patience is how long a call looks for a server that can take it, where the URI does not say.
const patience = 10 * time.Second

// store is driven.Store over the collections of one prefix.
type store struct {
	client              *mongo.Client
	db                  *mongo.Database
	jobs, runners, book *mongo.Collection
	bounds, slots       *mongo.Collection
	batches, schedules  *mongo.Collection
	prefix              string
	clock               func() time.Time
	set                 bool         // of a replica set: it has transactions
	installed           atomic.Int32 // the last step that was found applied
	closed              atomic.Bool
}

var _ driven.Store = (*store)(nil)

// Open connects and asks the server what it is. It does not migrate.
func Open(ctx context.Context, cfg Config) (driven.Backend, error) {
	const op = "open MongoDB"
	parsed, err := connstring.ParseAndValidate(cfg.URI)
	if err != nil {
		return driven.Backend{}, unread(op, err)
	}
	if cfg.Database == "" {
		cfg.Database = parsed.Database
	}
	opts := options.Client().ApplyURI(cfg.URI)
	bounded(opts)
	client, err := mongo.Connect(opts)
	if err != nil {
		return driven.Backend{}, fault(ctx, op, err)
	}
	b, err := FromClient(ctx, client, cfg)
	if err != nil {
		_ = client.Disconnect(context.WithoutCancel(ctx)) // nothing was written
		return driven.Backend{}, err
	}
	forget := b.Close
	b.Close = func() error {
		_ = forget()
		err := client.Disconnect(context.WithoutCancel(ctx))
		if errors.Is(err, mongo.ErrClientDisconnected) {
			return nil // closed before
		}
		return fault(context.WithoutCancel(ctx), "close", err)
	}
	return b, nil
}

// A server may be gone without a word. The driver watches each over a connection of its
// own, and drops all the others when that falls silent: with its own settings, 40
// seconds later.
const (
	connectTime = 4 * time.Second // bounds an answer to the watch too
	watchGap    = 2 * time.Second
)

// bounded bounds what the URI does not say.
func bounded(opts *options.ClientOptions) {
	if opts.ServerSelectionTimeout == nil {
		opts.SetServerSelectionTimeout(patience)
	}
	if opts.ConnectTimeout == nil {
		opts.SetConnectTimeout(connectTime)
	}
	if opts.HeartbeatInterval == nil {
		opts.SetHeartbeatInterval(watchGap)
	}
}

// unread says why a URI cannot be used. The cause is left out: it may hold the password.
func unread(op string, err error) error {
	var dns *net.DNSError // of mongodb+srv
	if errors.As(err, &dns) {
		return &domain.Fault{Code: domain.Unavailable, Op: op, Hint: "the name in the URI cannot be resolved to servers", Err: dns}
	}
	return &domain.Fault{Code: domain.Invalid, Op: op, Hint: "the URI cannot be read: give mongodb://user:password@host:port/database"}
}

// FromClient is a store on a client of the host's, which stays the host's to
// disconnect. Writes wait for a majority and reads go to the primary, whatever
// the client's own defaults are.
func FromClient(ctx context.Context, client *mongo.Client, cfg Config) (driven.Backend, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return driven.Backend{}, err
	}
	s := &store{client: client, prefix: cfg.CollectionPrefix, clock: cfg.Now}
	s.db = client.Database(cfg.Database, options.Database().SetReadPreference(readpref.Primary()).
		SetReadConcern(readconcern.Local()).SetWriteConcern(writeconcern.Majority()))
	s.jobs, s.runners, s.book = s.db.Collection(s.prefix+"jobs"), s.db.Collection(s.prefix+"runners"), s.db.Collection(s.prefix+"migrations")
	s.bounds, s.slots = s.db.Collection(s.prefix+"bounds"), s.db.Collection(s.prefix+"slots")
	s.batches, s.schedules = s.db.Collection(s.prefix+"batches"), s.db.Collection(s.prefix+"schedules")
	greeting, err := s.hello(ctx)
	if err != nil {
		return driven.Backend{}, fault(ctx, "open MongoDB", err)
	}
	s.set = greeting.SetName != ""
	b := driven.Backend{
		Name: "mongo", Limits: limitsOf(s.set), Store: s, Schema: migrator{s},
		Close: func() error { s.closed.Store(true); return nil },
	}
	if s.set {
		n := newNotifier(s)
		b.Tx, b.Notify = binder{s}, n
		b.Close = n.close
	}
	return b, nil
}

var (
	goodPrefix   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}$`)
	goodDatabase = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)
)

// checked fills in the defaults and refuses names that are not plain.
func (c Config) checked() (Config, error) {
	if c.CollectionPrefix == "" {
		c.CollectionPrefix = "rowlock_"
	}
	if c.Database == "" {
		c.Database = "rowlock"
	}
	bad := func(what, name, want string) error {
		return &domain.Fault{Code: domain.Invalid, Op: "open MongoDB", Subject: domain.CleanText(name, 80), Hint: fmt.Sprintf("the %s must be %s", what, want)}
	}
	switch {
	case !goodPrefix.MatchString(c.CollectionPrefix):
		return c, bad("collection prefix", c.CollectionPrefix, "letters, digits and underscores, at most 40, no digit first")
	case !goodDatabase.MatchString(c.Database):
		return c, bad("database", c.Database, "letters, digits, underscores and hyphens, at most 63")
	}
	return c, nil
}

// greeting is what the store looks at in the answer to hello.
type greeting struct {
	SetName   string        `bson:"setName"`
	LocalTime bson.DateTime `bson:"localTime"`
}

// hello asks the server who it is and what time it has.
func (s *store) hello(ctx context.Context) (g greeting, err error) {
	err = s.db.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&g)
	return g, err
}

// now is the server's time, read just before it is used: it is older than the
// true one when the write lands, so nothing is due, lapsed or over too early.
func (s *store) now(ctx context.Context) (int64, error) {
	if s.clock != nil {
		return s.clock().UnixMilli(), nil
	}
	g, err := s.hello(ctx)
	return int64(g.LocalTime), err
}

// do runs the work of one call that needs the time.
func (s *store) do(ctx context.Context, op string, work func(ctx context.Context, now int64) error) error {
	return s.after(ctx, op, jobsStep, work)
}

// after is do for what needs a later step of the schema.
func (s *store) after(ctx context.Context, op string, step int32, work func(ctx context.Context, now int64) error) error {
	return s.call(ctx, op, step, func(ctx context.Context) error { return s.timed(ctx, work) })
}

func (s *store) timed(ctx context.Context, work func(ctx context.Context, now int64) error) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	return work(ctx, now)
}

// look runs the work of one call on jobs.
func (s *store) look(ctx context.Context, op string, work func(context.Context) error) error {
	return s.call(ctx, op, jobsStep, work)
}

// call runs the work of one call that needs a step of the schema. A session in
// the caller's context is taken out of it: what is not asked for by Session does
// not belong to the host's transaction.
func (s *store) call(ctx context.Context, op string, step int32, work func(context.Context) error) error {
	err := s.begin(ctx)
	if err == nil {
		ctx = mongo.NewSessionContext(ctx, nil)
		err = s.there(ctx, step)
	}
	if err == nil {
		err = work(ctx)
	}
	return fault(ctx, op, err)
}

// begin refuses a call whose context is over, or after Close.
func (s *store) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return errClosed
	}
	return nil
}

// The steps of the schema that calls need.
const (
	jobsStep      = 1
	runnersStep   = 2
	boundsStep    = 3
	batchesStep   = 4
	schedulesStep = 5
)

// features are what the steps bring.
var features = map[int32]string{
	jobsStep: "jobs", runnersStep: "runners", boundsStep: "bounds", batchesStep: "batches", schedulesStep: "schedules", switchesStep: "switches",
}

// there asks once whether a step is installed: the server would make a missing
// collection without its indexes.
func (s *store) there(ctx context.Context, step int32) error {
	if s.installed.Load() >= step {
		return nil
	}
	applied, err := migrator{s}.applied(ctx)
	if err != nil {
		return err
	}
	if _, is := applied[int(step)]; !is {
		return &domain.Fault{Code: domain.Unsupported, Op: "look for the collections", Subject: features[step], Hint: "what they need is not there: run `rowlock migrate up`"}
	}
	s.installed.Store(step)
	return nil
}
