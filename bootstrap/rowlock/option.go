package rowlock

import (
	"go.uber.org/zap"

	"github.com/rowlock/rowlock/adapters/driven/zaplog"
	"github.com/rowlock/rowlock/bootstrap/backends"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Option says how a queue is opened.
type Option func(*settings)

type settings struct {
	store     backends.Options
	migrate   bool
	observers []driven.Observer
	keep      domain.Retention
	clock     driven.Clock
	ids       driven.IDs
	namespace string
}

// Migrate installs the tables first, or brings them up to date.
func Migrate() Option { return func(s *settings) { s.migrate = true } }

// TablePrefix stands before the name of every table; without it "rowlock_".
func TablePrefix(prefix string) Option { return func(s *settings) { s.store.TablePrefix = prefix } }

// Synchronous is SQLite's durability: "FULL", the default, or "NORMAL", with
// which a power cut may take the last commits. Other stores have no use for it.
func Synchronous(mode string) Option { return func(s *settings) { s.store.Synchronous = mode } }

// WithLogger writes every event to the logger.
func WithLogger(log *zap.Logger) Option {
	return func(s *settings) { s.observers = append(s.observers, zaplog.New(log)) }
}

// WithObserver tells the observer every event.
func WithObserver(o driven.Observer) Option {
	return func(s *settings) { s.observers = append(s.observers, o) }
}

// Retention says how long finished jobs stay where neither the job nor its kind
// says so. A zero field is the default: done and cancelled a day, dead for ever.
func Retention(keep domain.Retention) Option { return func(s *settings) { s.keep = keep } }

// WithClock replaces the process's clock, for tests. No lease and no due time is
// judged by it: those are the store's.
func WithClock(c driven.Clock) Option { return func(s *settings) { s.clock = c } }

// WithIDs replaces what makes ids, for tests.
func WithIDs(ids driven.IDs) Option { return func(s *settings) { s.ids = ids } }
