package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	loosenBatch = 5000             // jobs that one call makes ready
	startDepth  = 100_000          // of each group's line that it looks at
	drainDepth  = 10_000           // the same where a drain begins, and of a sweep
	lookBatch   = 1000             // keys that one call looks at: nothing hurries, and each reads anew what others changed
	openingTime = 10 * time.Second // one try of telling the store what the kinds declare
)

// fit checks what the kinds declare and makes the lanes.
func (s *session) fit() (err error) {
	if s.declared, err = s.deps.Registry.Bounds(); err != nil {
		return err
	}
	if _, err = s.deps.Registry.Failures(); err != nil {
		return err
	}
	for _, d := range s.declared {
		p := s.plans[d.Kind]
		if p.timeout == 0 {
			return &domain.Fault{
				Code: domain.Invalid, Op: opStart, Subject: d.Kind,
				Hint: fmt.Sprintf("the kind has a %v and no timeout, so a handler that never ends would keep its place for ever: give the kind work.Timeout or the runner a Timeout", d.Sort),
			}
		}
		if d.Sort == domain.BoundRate {
			s.rateTick = max(min(s.rateTick, d.Window/4), 5*time.Millisecond)
		}
		if p.limited.N > 0 && p.limited.Key == nil && p.rated.N == 0 {
			key := d.Key("")
			if s.buckets[key] == nil {
				s.buckets[key] = &bucket{n: d.N, free: d.N}
			}
			p.bucket = s.buckets[key]
		}
	}
	s.bounded.Store(len(s.declared) > 0)
	return s.makeLanes()
}

const opStart = "start runner"

// makeLanes gives each queue its workers, or all of them one crew, and each lane
// its own for the kinds that name it.
func (s *session) makeLanes() error {
	shared := make(map[string][]string)
	for _, kind := range s.kinds {
		lane := s.plans[kind].lane
		if _, known := s.cfg.Lanes[lane]; lane != "" && !known {
			return &domain.Fault{
				Code: domain.Invalid, Op: opStart, Subject: kind,
				Hint: fmt.Sprintf("the kind shall run in lane %q, which this runner does not have: name it in Lanes", lane),
			}
		}
		shared[lane] = append(shared[lane], kind)
	}
	queues := slices.Sorted(maps.Keys(s.cfg.Queues))
	if len(queues) == 0 {
		s.lanes = append(s.lanes, newLane(s, nil, shared[""], s.cfg.Concurrency))
	}
	for _, queue := range queues {
		s.lanes = append(s.lanes, newLane(s, []string{queue}, shared[""], s.cfg.Queues[queue]))
	}
	for _, name := range slices.Sorted(maps.Keys(s.cfg.Lanes)) {
		s.lanes = append(s.lanes, newLane(s, queues, shared[name], s.cfg.Lanes[name]))
	}
	return nil
}

// open tells the store what the kinds declare, over and over until it hears it:
// before that nothing is claimed, for it would be judged by what was declared
// before. first hears how the first try ended.
func (s *session) open(first chan<- error) {
	wait := backoff{first: 100 * time.Millisecond, cap: 2 * time.Second, jitter: true}
	for {
		err := s.declare(s.ctx)
		select {
		case first <- err:
		default:
		}
		if err == nil {
			break
		}
		s.fail("declare bounds", "", err)
		if !rest(s.ctx, wait.next()) {
			return
		}
	}
	close(s.opened)
	if err := s.release(s.ctx, startDepth); err != nil {
		s.fail("wake", "", err) // the sweep looks again
	}
}

// declare stores the bounds of the handled kinds. A schema that is too old for
// bounds will do where no kind has any.
func (s *session) declare(ctx context.Context) error {
	if len(s.kinds) == 0 {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, openingTime)
	defer cancel()
	err := s.deps.Store.Declare(bounded, s.kinds, s.declared)
	switch {
	case domain.CodeOf(err) != domain.Unsupported:
		return err
	case len(s.declared) == 0:
		s.boundless = true
		return nil
	}
	first := s.declared[0]
	return &domain.Fault{
		Code: domain.Unsupported, Op: opStart, Subject: first.Kind, Err: err,
		Hint: fmt.Sprintf("the kind has a %v, and the store's tables are too old for that: run `rowlock migrate up`", first.Sort),
	}
}

// within bounds a call of the opening.
func within[Q, A any](ctx context.Context, call func(context.Context, Q) (A, error), q Q) (A, error) {
	bounded, cancel := context.WithTimeout(ctx, openingTime)
	defer cancel()
	return call(bounded, q)
}

// release makes ready who waits in a group that their kind does not declare, and
// whoever else may try now: what waits may have been left by a crash, or under an older
// limit.
func (s *session) release(ctx context.Context, depth int) error {
	if s.boundless || len(s.kinds) == 0 {
		return nil
	}
	return errors.Join(s.loosen(ctx, depth), s.wakeBlocked(ctx)) // one that fails keeps no other
}

func (s *session) loosen(ctx context.Context, depth int) error {
	for {
		answer, err := within(ctx, s.deps.Store.Loosen, driven.LoosenRequest{Limit: loosenBatch, Depth: depth})
		if err != nil {
			return err
		}
		s.waker.spread(answer.Woken)
		if !answer.More || answer.Jobs == 0 {
			return nil
		}
	}
}

// wakeBlocked wakes every key that somebody waits for, as a sweep does, and at the next
// polls those where somebody was.
func (s *session) wakeBlocked(ctx context.Context) error {
	for after := ""; ; {
		keys, err := within(ctx, func(ctx context.Context, after string) ([]string, error) {
			return s.deps.Store.BlockedKeys(ctx, after, lookBatch)
		}, after)
		if err != nil || len(keys) == 0 {
			return err
		}
		woken, err := within(ctx, s.deps.Store.Wake, keys)
		if err != nil {
			return err
		}
		s.waker.spread(woken)
		if woken.Jobs > 0 {
			s.waker.lookAgain(keys)
			ring(s.waker.bell)
		}
		after = keys[len(keys)-1]
	}
}
