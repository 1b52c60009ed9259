package customadapter

import (
	"context"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Config is what the store needs, both required.
type Config struct {
	Path string           // of the file; it is made where there is none
	Now  func() time.Time // the store's clock
}

// Open reads the file and makes the backend.
func Open(cfg Config) (driven.Backend, error) {
	const op = "open log store"
	if cfg.Path == "" || cfg.Now == nil {
		return driven.Backend{}, &domain.Fault{Code: domain.Invalid, Op: op, Hint: "give both Path and Now"}
	}
	s := &store{
		now: cfg.Now, jobs: map[domain.JobID]record{}, locks: map[string]domain.JobID{}, runners: map[string]beat{},
		slots: map[domain.Slot]permit{}, declared: map[declared]domain.Declaration{},
		batches: map[domain.BatchID]domain.Batch{}, plans: map[domain.ScheduleKey]domain.Schedule{},
		off: map[domain.Switch]time.Time{},
	}
	if err := s.load(cfg.Path); err != nil {
		return driven.Backend{}, &domain.Fault{
			Code: domain.Unavailable, Op: op, Subject: cfg.Path, Err: err,
			Hint: "the file must be readable, writable and a log of this store",
		}
	}
	return driven.Backend{Name: "log", Limits: driven.Limits{AtomicBulk: true}, Store: s, Close: s.close}, nil
}

type store struct {
	now func() time.Time

	mu    sync.Mutex
	log   *os.File // nil: closed
	size  int64
	jobs  map[domain.JobID]record
	locks map[string]domain.JobID // who holds a unique key

	batches map[domain.BatchID]domain.Batch
	plans   map[domain.ScheduleKey]domain.Schedule
	off     map[domain.Switch]time.Time // what is paused, since when

	// Not in the file: they end with the process, which alone runs jobs.
	runners  map[string]beat
	slots    map[domain.Slot]permit // those that are taken
	declared map[declared]domain.Declaration
}

var _ driven.Store = (*store)(nil)

// tx is a transaction: what it changed and what was there before.
type tx struct {
	*store
	now    time.Time
	before []record
	after  []change

	// Its own, until it is over.
	slots   map[domain.Slot]permit
	batches map[domain.BatchID]domain.Batch
	plans   map[domain.ScheduleKey]domain.Schedule
	off     map[domain.Switch]time.Time
}

// do makes f one transaction. Every method of the store is one call of it; what
// it would have answered means nothing where there is an error.
func (s *store) do(ctx context.Context, op string, f func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return &domain.Fault{Code: domain.Canceled, Op: op, Hint: "the context ended", Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return &domain.Fault{Code: domain.Unavailable, Op: op, Hint: "the store was closed"}
	}
	t := &tx{store: s, now: cut(s.now()), slots: maps.Clone(s.slots), batches: maps.Clone(s.batches), plans: maps.Clone(s.plans), off: maps.Clone(s.off)}
	err := f(t)
	if err == nil && len(t.after) > 0 {
		err = s.write(op, t.after)
	}
	if err != nil {
		t.rollback()
		return err
	}
	s.slots, s.batches, s.plans, s.off = t.slots, t.batches, t.plans, t.off
	return nil
}

// put writes a new state of a job.
func (t *tx) put(r record) {
	old, ok := t.jobs[r.ID]
	if !ok {
		old = record{Job: domain.Job{ID: r.ID}, Gone: true}
	}
	if r.State != domain.Blocked {
		r.BlockedOn = ""
	}
	job := pack(r)
	t.before, t.after = append(t.before, old), append(t.after, change{Job: &job})
	t.set(r)
}

func (t *tx) rollback() {
	for i := len(t.before) - 1; i >= 0; i-- {
		t.set(t.before[i])
	}
}

// set keeps the jobs and the index of unique keys in step.
func (s *store) set(r record) {
	if old, ok := s.jobs[r.ID]; ok {
		delete(s.locks, old.Lock)
	}
	if r.Gone {
		delete(s.jobs, r.ID)
		return
	}
	s.jobs[r.ID] = r
	if r.Lock != "" {
		s.locks[r.Lock] = r.ID
	}
}

func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return nil
	}
	err := s.log.Close()
	s.log = nil
	return err
}
