package runner

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// session is the machinery between a start and its stop.
type session struct {
	cfg   Config
	deps  Deps
	id    string
	clock *clock
	kinds []string
	plans map[string]*plan
	base  context.Context // of the handlers: the host's values, without an end

	recalls int // of a drain, in a row

	ctx   context.Context // of the store calls; ends when nothing is left to write, or Stop gives up
	abort context.CancelFunc

	held      held
	renewal   deadline // of the renewals
	completer *completer
	waker     *waker
	finisher  *finisher
	pauses    *pauses
	lanes     []*lane
	declared  []domain.Declaration // the bounds of the kinds
	opened    chan struct{}        // closed: the store knows them
	boundless bool                 // the store has no place for bounds
	bounded   atomic.Bool          // something bounded was declared or claimed
	rateTick  time.Duration        // between two looks at running jobs under a rate
	buckets   map[string]*bucket   // by stored key
	served    map[string]*cursor   // of each fair queue
	counts    [counters]atomic.Int64
	sleeps    bool         // the lanes sleep until something is due; those of a drain do not
	gone      atomic.Int64 // when this process is, as the runner counts time; 0: not known yet

	changed  chan struct{} // a drain's: something moved
	quit     chan struct{} // closed: nothing more is started
	quitOnce sync.Once
	loops    sync.WaitGroup // claim loops
	workers  sync.WaitGroup
	keepers  sync.WaitGroup
	done     chan struct{} // closed: all is over
}

func newSession(ctx context.Context, r *Runner) (*session, error) {
	s := &session{
		cfg: r.cfg, deps: r.deps, id: r.id, clock: newClock(r.deps.Clock),
		plans:  plansOf(r.deps.Registry, r.cfg),
		base:   context.WithoutCancel(ctx),
		held:   held{jobs: make(map[domain.JobID]*attempt)},
		opened: make(chan struct{}), rateTick: r.cfg.Poll, buckets: make(map[string]*bucket),
		changed: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if domain.TenantOf(s.base) != "" { // a job without a tenant runs in none
		s.base = domain.WithTenant(s.base, "")
	}
	s.served = make(map[string]*cursor)
	for _, queue := range s.cfg.Fair {
		s.served[queue] = &cursor{}
	}
	s.kinds = slices.Sorted(maps.Keys(s.plans))
	s.ctx, s.abort = context.WithCancel(s.base)
	s.completer, s.waker, s.finisher = newCompleter(s), newWaker(s), newFinisher(s)
	s.pauses = newPauses(s)
	if err := s.fit(); err != nil {
		s.abort()
		return nil, err
	}
	return s, nil
}

// start runs everything, with a claim loop for each lane. The answer says how the
// first try ended of telling the store what the kinds declare.
func (s *session) start() <-chan error {
	s.sleeps = true
	s.weighPool()
	s.run()
	first := make(chan error, 1)
	s.keepers.Go(func() { s.open(first) })
	for _, l := range s.lanes {
		s.loops.Go(l.loop)
	}
	if s.deps.Wake != nil {
		s.keepers.Go(s.listen)
	}
	go s.finish()
	return first
}

// run starts what a drain needs too: workers, completer, waker, keepers.
func (s *session) run() {
	for _, l := range s.lanes {
		for range l.size {
			s.workers.Add(1)
			go l.work()
		}
	}
	go s.completer.run()
	go s.waker.run()
	go s.finisher.run()
	s.keepers.Go(s.keepRenewing)
	s.keepers.Go(s.keepWatch)
	s.keepers.Go(s.keepBeating)
}

// finish takes everything down in order once quit is closed: leases are renewed
// until the last outcome is written, then the batches that it ends are finished, and
// who waits for what that freed is woken.
func (s *session) finish() {
	<-s.quit
	s.loops.Wait()
	s.workers.Wait()
	s.completer.close()
	s.finisher.close()
	s.waker.close()
	s.abort()
	s.keepers.Wait()
	s.leave()
	close(s.done)
}

func (s *session) stopping() bool {
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}

// brisk says that short jobs wait for a worker.
func (s *session) brisk() bool {
	for _, l := range s.lanes {
		if l.line.size() > 0 && l.brief() {
			return true
		}
	}
	return false
}

// listen hears the hints of others. A listener that ended is armed again, at once
// where it had listened for a while, and what it missed is looked for.
func (s *session) listen() {
	wait := min(s.cfg.Poll, time.Second)
	for {
		began := s.clock.now()
		err := s.deps.Wake.Listen(s.ctx, s.hear)
		if s.ctx.Err() != nil {
			return
		}
		if err != nil {
			s.fail("listen", "", err)
		}
		if s.clock.now()-began < wait && !rest(s.ctx, wait) {
			return
		}
		s.hear("")
	}
}

func (s *session) hear(queue string) {
	s.pauses.hint()
	for _, l := range s.lanes {
		if l.works(queue) {
			l.wake(queue)
		}
	}
}

// observe tells the observer. One that panics must not take the process with it.
func (s *session) observe(e domain.Event) {
	if s.deps.Observer == nil {
		return
	}
	defer func() { _ = recover() }()
	s.deps.Observer.Observe(e)
}

// fail reports an error that a loop survived; what ends because Stop gave up is none.
func (s *session) fail(operation, queue string, err error) {
	if s.ctx.Err() != nil {
		return
	}
	s.observe(domain.Event{Type: domain.EventError, Operation: operation, Queue: queue, Err: err})
}

func (s *session) info() domain.RunnerInfo {
	now := s.clock.source.Now().UTC()
	return domain.RunnerInfo{
		ID: s.id, Kinds: s.kinds, Queues: slices.Sorted(maps.Keys(s.cfg.Queues)),
		StartedAt: s.clock.epoch.UTC(), SeenAt: now,
	}
}
