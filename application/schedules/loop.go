package schedules

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	page     = 100              // due schedules of one look
	callTime = 30 * time.Second // bounds one call, so that a connection that went dead does not end the loop
	soon     = time.Minute      // a job that is due within it wakes its queue
	oldSleep = time.Minute      // between two looks at a schema that has no place for schedules
	scatter  = 10 * time.Millisecond
)

// loop declares, then looks for ever. first hears how the first try of declaring ended.
func (k *Keeper) loop(ctx context.Context, first chan<- error) {
	for {
		err := k.declare(ctx)
		select {
		case first <- err:
		default:
		}
		if err == nil {
			break
		}
		k.fail(ctx, "declare schedules", nil, err)
		if !rest(ctx, k.afterError()) {
			return
		}
	}
	if len(k.kinds) == 0 {
		return
	}
	for rest(ctx, k.look(ctx)) {
	}
}

// declare stores what is declared. A process that declares nothing forgets nothing.
func (k *Keeper) declare(ctx context.Context) error {
	if len(k.declared) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := k.deps.Store.DeclareSchedules(ctx, k.cfg.Namespace, k.declared)
	if domain.CodeOf(err) != domain.Unsupported {
		return err
	}
	return &domain.Fault{
		Code: domain.Unsupported, Op: opStart, Subject: domain.CleanText(k.declared[0].Name, 80), Err: err,
		Hint: "a schedule is declared, and the store's tables are too old for that: run `rowlock migrate up`",
	}
}

// look moves what is due and says how long to sleep.
func (k *Keeper) look(ctx context.Context) time.Duration {
	due, err := k.due(ctx)
	for i := range due.Broken {
		k.broken(&due.Broken[i], due.Broken[i].Broken)
	}
	if code := domain.CodeOf(err); code == domain.Unsupported || code == domain.Denied {
		if !k.said {
			k.said = true
			k.fail(ctx, "list due schedules", nil, err)
		}
		return jittered(oldSleep)
	}
	if err != nil {
		k.fail(ctx, "list due schedules", nil, err)
		return k.afterError()
	}
	moved := false
	clear(k.failing)
	for i := range due.All {
		s := &due.All[i]
		one, err := k.move(ctx, s, due.Now)
		moved = moved || one
		if err != nil {
			k.failing[s.ScheduleKey] = true
			k.fail(ctx, "advance schedule", s, err)
		}
	}
	switch {
	case moved: // when the next tick comes is known by another look
		return 0
	case len(due.All) > 0:
		return jittered(k.cfg.Poll)
	}
	return min(max(due.Next, time.Millisecond)+time.Duration(rand.Int64N(int64(scatter))), jittered(k.cfg.Poll))
}

func (k *Keeper) afterError() time.Duration { return jittered(min(k.cfg.Poll, time.Second)) }

// due asks for a page; those that failed take nobody's place in it.
func (k *Keeper) due(ctx context.Context) (driven.DueSchedules, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return k.deps.Store.DueSchedules(ctx, k.kinds, page+len(k.failing))
}

// move does what the plan says. Jobs that no store takes break the schedule.
func (k *Keeper) move(ctx context.Context, s *domain.Schedule, now time.Time) (bool, error) {
	tick := s.Plan(now)
	if tick.Broken == "" && tick.To.Equal(tick.From) {
		return false, nil
	}
	done, err := k.advance(ctx, tick)
	if domain.CodeOf(err) == domain.Invalid {
		tick = domain.Tick{Key: tick.Key, Rev: tick.Rev, From: tick.From, Broken: domain.CleanText(err.Error(), domain.MaxMessage)}
		done, err = k.advance(ctx, tick)
	}
	if err != nil || !done.Moved {
		return false, err
	}
	k.tell(s, &tick, done.Jobs)
	return true, nil
}

func (k *Keeper) advance(ctx context.Context, tick domain.Tick) (driven.Advanced, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return k.deps.Store.Advance(ctx, tick)
}

// tell reports what was done and wakes the queues of its jobs.
func (k *Keeper) tell(s *domain.Schedule, tick *domain.Tick, jobs []driven.Inserted) {
	about := domain.Event{Kind: s.Job.Kind, Queue: s.Job.Queue, Tenant: s.Tenant, Schedule: s.Name}
	var queues []string
	for i, job := range jobs {
		if job.Result != domain.InsertedNew || i >= len(tick.Jobs) {
			continue
		}
		made := &tick.Jobs[i]
		fired := about
		fired.Type, fired.Job, fired.Delay = domain.EventScheduleFired, job.ID, made.Due.After
		k.observe(fired)
		if made.Due.After <= soon && !slices.Contains(queues, made.Queue) {
			queues = append(queues, made.Queue)
		}
	}
	if k.deps.Wake != nil && len(queues) > 0 {
		k.deps.Wake.Notify(queues...)
	}
	if tick.Skipped > 0 {
		skipped := about
		skipped.Type, skipped.Count, skipped.AtLeast = domain.EventScheduleSkipped, int(tick.Skipped), tick.More
		k.observe(skipped)
	}
	if tick.Broken != "" {
		k.broken(s, tick.Broken)
	}
}

// broken tells of a schedule that was marked: it has no jobs until somebody mends it.
func (k *Keeper) broken(s *domain.Schedule, why string) {
	const op = "follow schedule"
	k.observe(domain.Event{
		Type: domain.EventError, Operation: op, Schedule: s.Name, Kind: s.Job.Kind, Queue: s.Job.Queue, Tenant: s.Tenant,
		Err: &domain.Fault{Code: domain.Invalid, Op: op, Subject: domain.CleanText(s.Name, 80), Hint: why},
	})
}
