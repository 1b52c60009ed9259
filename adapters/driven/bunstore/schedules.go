package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// schedule reads a row of scheduleColumns. One that somebody broke says so.
func (c *cells) schedule() domain.Schedule {
	d := domain.Schedule{
		ScheduleKey: domain.ScheduleKey{Tenant: c.text(0), Name: c.text(1)}, Namespace: c.text(2),
		Timing: domain.Timing{Cron: c.text(4), Zone: c.text(5), Every: span(c.int(6))},
		Missed: domain.Missed{Policy: policy(c.int(7)), Max: int(c.int(8))},
		Paused: c.int(10) > 0, Broken: c.text(11), NextAt: fromMoment(c.int(12)), LastAt: fromMoment(c.int(13)), LastJob: c.id(14),
		Skipped: c.int(15), Rev: c.int(16), CreatedAt: fromMoment(c.int(17)), UpdatedAt: fromMoment(c.int(18)),
	}
	job, err := domain.ParseTemplate(c.text(9))
	if d.Job = job; d.Broken == "" {
		d.Broken = misread(&d, c, err)
	}
	d.Job.Kind = cmp.Or(d.Job.Kind, c.text(3)) // so that it is known whose it was
	return d
}

// unknownPolicy is a number that no policy has.
const unknownPolicy = 255

func policy(n int64) domain.MissedPolicy {
	if n < 0 || n > unknownPolicy {
		n = unknownPolicy
	}
	return domain.MissedPolicy(n)
}

// misread says what nobody can follow in a row that others than Rowlock wrote.
func misread(d *domain.Schedule, c *cells, err error) string {
	switch {
	case err != nil:
		return "its stored job cannot be read"
	case d.Job.Kind != c.text(3):
		return "its stored job is of another kind than its row"
	case d.Missed.Policy.String() == domain.MissedPolicy(unknownPolicy).String():
		return "its stored policy for missed ticks is none of ours"
	}
	return ""
}

// schedules runs a query of scheduleColumns.
func (s *Store) schedules(ctx context.Context, c Conn, st Stmt, values ...any) (all []domain.Schedule, err error) {
	cell := newCells(19)
	err = s.each(ctx, c, st, values, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		all = append(all, cell.schedule())
		return err
	})
	return all, err
}

// DueSchedules reads what is due. A row that somebody broke is marked, so that it is
// in nobody's way any more, and told of, and the list shows why; then it reads once
// more. Of several that mark it one tells.
func (s *Store) DueSchedules(ctx context.Context, kinds []string, limit int) (answer driven.DueSchedules, err error) {
	if len(kinds) == 0 {
		kinds = []string{""} // of nobody, for the time alone
	}
	var marked []domain.Schedule
	for range misreadTries {
		var broken []domain.Schedule
		err = s.read(ctx, "list due schedules", func(ctx context.Context, c Conn) (err error) {
			answer, err = s.dueSchedules(ctx, c, kinds, limit)
			return err
		})
		answer.All = slices.DeleteFunc(answer.All, func(d domain.Schedule) bool {
			if d.Broken != "" {
				broken = append(broken, d)
			}
			return d.Broken != ""
		})
		answer.Broken = marked
		if err != nil || len(broken) == 0 {
			return answer, err
		}
		for _, d := range broken {
			done, err := s.Advance(ctx, domain.Tick{Key: d.ScheduleKey, Rev: d.Rev, From: d.NextAt, Broken: d.Broken})
			if err != nil {
				return answer, err
			}
			if done.Moved {
				marked = append(marked, d)
				answer.Broken = marked
			}
		}
	}
	return answer, nil
}

// misreadTries bounds how often one call marks broken rows and reads again.
const misreadTries = 3

// dueSchedules asks each kind for its first tick, and those where that has come for
// their schedules, the kind that is due the longest first: as soon as there are enough
// that are due for longer than all of the next kind, it has them all.
func (s *Store) dueSchedules(ctx context.Context, c Conn, kinds []string, limit int) (answer driven.DueSchedules, err error) {
	answer.Next = driven.NoNext
	due, err := s.firstTicks(ctx, c, kinds, &answer)
	if err != nil {
		return answer, err
	}
	slices.SortFunc(due, func(a, b tick) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind)) })
	for _, kind := range due {
		later := int64(0)
		if err := One(ctx, c, s.t.schedules.later, []any{s.now(), kind.kind}, &later); err != nil {
			return answer, err
		}
		if later > 0 {
			sooner(&answer, later)
		}
		if n := len(answer.All); limit <= 0 || n >= limit && moment(answer.All[n-1].NextAt) < kind.at {
			continue
		}
		some, err := s.schedules(ctx, c, s.t.schedules.due, s.now(), kind.kind, limit)
		if err != nil {
			return answer, err
		}
		answer.All = append(answer.All, some...)
		slices.SortFunc(answer.All, byTick)
		answer.All = answer.All[:min(limit, len(answer.All))]
	}
	return answer, nil
}

// tick is the first one of a kind.
type tick struct {
	kind string
	at   int64
}

// firstTicks gives the kinds whose first tick has come, and when others do.
func (s *Store) firstTicks(ctx context.Context, c Conn, kinds []string, answer *driven.DueSchedules) (due []tick, err error) {
	cell := newCells(3)
	for _, part := range s.keyParts(slices.Compact(slices.Sorted(slices.Values(kinds)))) {
		err := s.each(ctx, c, s.t.schedules.first, []any{s.now(), keyRows(part)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			first, now := cell.int(1), cell.int(2)
			answer.Now = time.UnixMilli(now).UTC()
			switch {
			case cell.v[1] == nil:
			case first <= now:
				due = append(due, tick{cell.text(0), first})
			default:
				sooner(answer, first)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return due, nil
}

// sooner has the next tick be at that moment, if not before.
func sooner(answer *driven.DueSchedules, at int64) {
	answer.Next = min(answer.Next, max(time.UnixMilli(at).Sub(answer.Now), 0))
}

// byTick is the order of what is due: the longest first.
func byTick(a, b domain.Schedule) int {
	return cmp.Or(a.NextAt.Compare(b.NextAt), compareSchedules(a.ScheduleKey, b.ScheduleKey))
}

func compareSchedules(a, b domain.ScheduleKey) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
}

// Advance locks the schedule, so that of all who try the others see it moved, and
// judges by what it reads under that lock: how many rows an update changed is counted
// otherwise by some drivers.
func (s *Store) Advance(ctx context.Context, t domain.Tick) (answer driven.Advanced, err error) {
	err = s.write(ctx, "advance schedule", func(ctx context.Context, c Conn) error {
		answer = driven.Advanced{}
		found, err := s.schedules(ctx, c, s.t.schedules.lock, nil, schedKeyRows([]domain.ScheduleKey{t.Key}))
		if err != nil || len(found) == 0 || found[0].Rev != t.Rev || moment(found[0].NextAt) != moment(t.From) {
			return err
		}
		var a Array
		a.Row().Text(t.Key.Tenant).Text(t.Key.Name)
		if answer.Moved = true; t.Broken != "" {
			_, err := s.exec(ctx, c, s.t.schedules.breaks, nil, a.Text(domain.CleanText(t.Broken, domain.MaxMessage)).String())
			return err
		}
		move, last := s.t.schedules.move, domain.JobID{}
		if n := len(t.Jobs); n > 0 {
			move, last = s.t.schedules.fire, t.Jobs[n-1].ID
			if answer.Jobs, err = s.insert(ctx, c, newRows(t.Jobs), false); err != nil {
				return err
			}
		}
		a.Int(moment(t.To)).Int(t.Skipped).Int(moment(t.Fired)).ID(last)
		_, err = s.exec(ctx, c, move, nil, a.String())
		return err
	})
	if err != nil {
		return driven.Advanced{}, err
	}
	return answer, nil
}

func schedKeyRows(keys []domain.ScheduleKey) string {
	a := NewArray(60 * len(keys))
	for _, k := range keys {
		a.Row().Text(k.Tenant).Text(k.Name)
	}
	return a.String()
}
