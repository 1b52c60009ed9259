package memstore

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Config is what a store needs.
type Config struct {
	// Now is the store's clock: every lease, due time and retention is judged by
	// it. It must be safe for concurrent use.
	Now func() time.Time
}

// Open makes an empty store.
func Open(cfg Config) (driven.Backend, error) {
	if cfg.Now == nil {
		return driven.Backend{}, &domain.Fault{
			Code: domain.Invalid, Op: "open memory store", Subject: "Config.Now",
			Hint: "give the store a clock: system.Clock().Now, or a test's own",
		}
	}
	s := newStore(cfg.Now)
	return driven.Backend{
		Name:   "memory",
		Limits: driven.Limits{AtomicBulk: true},
		Store:  s,
		Tx:     binder{s},
		Close:  s.close,
	}, nil
}

type store struct {
	clock func() time.Time

	mu      sync.Mutex
	closed  bool
	rows    map[domain.JobID]*row       // also those of open host transactions
	locks   map[string]*row             // who holds a unique key
	ids     *index                      // every committed row by id
	states  []*index                    // every committed row of a state by its stamp
	lines   map[line]*index             // the ready rows of a queue and kind in claim order
	shares  map[string]map[share]*index // the ready rows of a queue that serves its tenants in turn
	waiting map[string]int              // ready and scheduled rows of a queue
	runners map[string]runner

	declared map[declared]domain.Declaration
	slots    map[string]map[int]*slot // by key and number
	kept     map[domain.Slot]*slot    // those that have an end
	turns    map[string]*index        // the rows that have a turn at a key, by place
	blocked  map[string]*index        // the blocked rows of a key in claim order

	batches   map[domain.BatchID]*domain.Batch
	schedules map[domain.ScheduleKey]*domain.Schedule
	paused    map[domain.Switch]time.Time
}

// line is where a ready job waits.
type line struct{ queue, kind string }

var _ driven.Store = (*store)(nil)

func newStore(clock func() time.Time) *store {
	s := &store{
		clock:   clock,
		rows:    map[domain.JobID]*row{},
		locks:   map[string]*row{},
		ids:     &index{order: byID},
		lines:   map[line]*index{},
		shares:  map[string]map[share]*index{},
		waiting: map[string]int{},
		runners: map[string]runner{},

		declared: map[declared]domain.Declaration{},
		slots:    map[string]map[int]*slot{},
		kept:     map[domain.Slot]*slot{},
		turns:    map[string]*index{},
		blocked:  map[string]*index{},

		batches:   map[domain.BatchID]*domain.Batch{},
		schedules: map[domain.ScheduleKey]*domain.Schedule{},
		paused:    map[domain.Switch]time.Time{},
	}
	for range domain.States() {
		s.states = append(s.states, &index{order: byStamp})
	}
	return s
}

// do runs one transaction: f has the store to itself and the one moment that is
// now for all of it.
func (s *store) do(ctx context.Context, op string, f func(now time.Time) error) error {
	if err := ended(ctx, op); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &domain.Fault{Code: domain.Unavailable, Op: op, Hint: "the store was closed"}
	}
	return f(cut(s.clock()))
}

func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func ended(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return &domain.Fault{Code: domain.Canceled, Op: op, Hint: "the context ended", Err: err}
	}
	return nil
}

// cut is a moment as it is stored: UTC, whole milliseconds, never rounded up.
func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
