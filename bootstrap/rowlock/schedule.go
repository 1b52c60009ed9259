package rowlock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/schedules"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
)

// Schedule declares a job that recurs, before Work:
//
//	rowlock.Schedule(q, "report", Report{Week: true}, schedules.Cron("0 7 * * mon", "Europe/Vienna"), enqueue.Queue("mail"))
//
// Work stores it under the program's Namespace and forgets what an earlier version of
// the program declared there and this one does not. Any number of processes may declare
// the same: each tick has one job. What is wrong with it is told by Work, which then
// does not start.
func Schedule(q *Queue, name string, args work.Args, when schedules.When, opts ...enqueue.Option) {
	q.declare(name, args, when, opts, false)
}

// BuiltinSchedule declares one that comes with a library: a host's of the same name
// beats it.
func BuiltinSchedule(q *Queue, name string, args work.Args, when schedules.When, opts ...enqueue.Option) {
	q.declare(name, args, when, opts, true)
}

// DeclareSchedule declares one whose job is made already, e.g. of a file.
func (q *Queue) DeclareSchedule(s domain.Schedule) {
	q.note(q.book.Declare(s.ScheduleKey, false, func(context.Context) (domain.Schedule, error) { return s, s.Validate() }))
}

// Namespace names the application that declares the queue's schedules: programs of one
// namespace replace each other's, and no others. Without it the path of the program's
// main package.
func Namespace(name string) Option { return func(s *settings) { s.namespace = name } }

// Schedules is for looking at schedules and for changing them.
func (q *Queue) Schedules() *schedules.Service {
	return schedules.New(schedules.ServiceDeps{
		Store: q.backend.Store, IDs: q.ids, Kinds: q.Kinds, Observer: q.observer, Wake: q.wake,
	})
}

func (q *Queue) declare(name string, args work.Args, when schedules.When, opts []enqueue.Option, builtin bool) {
	template := func(ctx context.Context) (domain.Template, error) {
		return q.templates(args).Template(ctx, args, opts...)
	}
	q.note(q.book.Declare(when.Key(name), builtin, when.Declare(name, template)))
}

// templates is the client that makes the template. One of a kind without a handler is
// no fault here: the schedule is left out, which is said.
func (q *Queue) templates(args work.Args) *enqueue.Client {
	if args != nil {
		if _, known := q.registry.Find(args.Kind()); !known {
			return enqueue.New(enqueue.Config{IDs: q.ids, Clock: q.clock})
		}
	}
	return q.Client
}

// keeper makes what declares and moves the schedules. It starts nothing.
func (w worker) keeper(ctx context.Context) (*schedules.Keeper, error) {
	q := w.queue
	declared, err := q.book.Seal(ctx)
	if err != nil {
		return nil, err
	}
	return schedules.NewKeeper(schedules.Config{Namespace: q.namespace, Poll: w.runner.Poll}, declared, schedules.Deps{
		Store: q.backend.Store, Kinds: q.registry.Kinds, Observer: q.observer, Wake: q.wake,
	})
}

// work runs jobs until the context ends, and keeps the schedules until then.
func (w worker) work(ctx context.Context, r *runner.Runner) error {
	keeper, err := w.keeper(ctx)
	if err != nil {
		return domain.UnlessEnded(ctx, err)
	}
	if err := keeper.Start(ctx); err != nil {
		return domain.UnlessEnded(ctx, err)
	}
	ended := context.AfterFunc(ctx, func() { _ = dismiss(ctx, keeper) }) // handlers may take longer to end
	defer ended()
	return errors.Join(r.Work(ctx), dismiss(ctx, keeper))
}
