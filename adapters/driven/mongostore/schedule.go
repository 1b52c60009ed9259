package mongostore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// scheduleRow is the document of a schedule. `live` is there while it is neither
// paused nor broken.
type scheduleRow struct {
	ID        string `bson:"_id"`
	Tenant    string `bson:"tenant"`
	Name      string `bson:"name"`
	Namespace string `bson:"namespace,omitempty"`
	Cron      string `bson:"cron,omitempty"`
	Zone      string `bson:"zone,omitempty"`
	Every     int64  `bson:"every,omitempty"`
	Missed    int    `bson:"missed,omitempty"`
	MissedMax int    `bson:"missed_max,omitempty"`
	Kind      string `bson:"kind"`
	Job       string `bson:"job"` // the template
	Live      int    `bson:"live,omitempty"`
	Paused    int    `bson:"paused,omitempty"`
	Broken    string `bson:"broken,omitempty"`
	NextAt    int64  `bson:"next_at"` // 0: to be found
	LastAt    int64  `bson:"last_at,omitempty"`
	LastJob   key    `bson:"last_job,omitempty"`
	Skipped   int64  `bson:"skipped,omitempty"`
	Rev       int64  `bson:"rev"`
	Firing    firing `bson:"firing,omitempty"`
	CreatedAt int64  `bson:"created_at"`
	UpdatedAt int64  `bson:"updated_at"`
}

// scheduleID is the length of the tenant's name, which keeps the border, and both.
func scheduleID(k domain.ScheduleKey) string {
	return strconv.Itoa(len(k.Tenant)) + ":" + k.Tenant + k.Name
}

// newSchedule is the document of one whose first tick is to be found.
func newSchedule(d *domain.Schedule, now int64) (scheduleRow, error) {
	text, err := d.Job.Text()
	r := scheduleRow{
		ID: scheduleID(d.ScheduleKey), Tenant: d.Tenant, Name: d.Name, Namespace: d.Namespace,
		Cron: d.Timing.Cron, Zone: d.Timing.Zone, Every: ms(d.Timing.Every), Missed: int(d.Missed.Policy), MissedMax: d.Missed.Max,
		Kind: d.Job.Kind, Job: text, Live: 1, Rev: 1, CreatedAt: now, UpdatedAt: now,
	}
	if d.Paused {
		r.Live, r.Paused = 0, 1
	}
	return r, err
}

// schedule is the document as the domain knows it. A template that somebody broke
// is that of no job.
func (r *scheduleRow) schedule() domain.Schedule {
	d := domain.Schedule{
		ScheduleKey: domain.ScheduleKey{Tenant: r.Tenant, Name: r.Name}, Namespace: r.Namespace,
		Timing: domain.Timing{Cron: r.Cron, Zone: r.Zone, Every: span(r.Every)},
		Missed: domain.Missed{Policy: domain.MissedPolicy(r.Missed), Max: r.MissedMax},
		Paused: r.Paused > 0, Broken: r.Broken, NextAt: moment(r.NextAt), LastAt: moment(r.LastAt), LastJob: domain.JobID(r.LastJob),
		Skipped: r.Skipped, Rev: r.Rev, CreatedAt: at(r.CreatedAt), UpdatedAt: at(r.UpdatedAt),
	}
	var err error
	if d.Job, err = domain.ParseTemplate(r.Job); err != nil {
		d.Job = domain.Template{Kind: r.Kind}
	}
	return d
}

// scheduled is do for what needs the collection of schedules.
func (s *store) scheduled(ctx context.Context, op string, work func(ctx context.Context, now int64) error) error {
	return s.after(ctx, op, schedulesStep, work)
}

func (s *store) readSchedules(ctx context.Context, filter bson.D, opts *options.FindOptionsBuilder) (all []scheduleRow, err error) {
	cursor, err := s.schedules.Find(ctx, filter, opts.SetBatchSize(writeBound))
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &all)
	return all, err
}

func noSchedule(op string, k domain.ScheduleKey) error {
	return &domain.Fault{Code: domain.NotFound, Op: op, Subject: k.Name, Hint: "there is no such schedule"}
}

// AddSchedule writes the document.
func (s *store) AddSchedule(ctx context.Context, d domain.Schedule) error {
	const op = "add schedule"
	return s.scheduled(ctx, op, func(ctx context.Context, now int64) error {
		r, err := newSchedule(&d, now)
		if err == nil {
			_, err = s.schedules.InsertOne(ctx, r)
		}
		if has(err, duplicateKey) {
			return &domain.Fault{Code: domain.Conflict, Op: op, Subject: d.Name, Hint: "there is a schedule of this name: delete it first, or name this one otherwise"}
		}
		return err
	})
}

// PauseSchedule is one write that finds the document only as it is not wanted. A
// broken one is not live when it goes on.
func (s *store) PauseSchedule(ctx context.Context, k domain.ScheduleKey, paused bool) error {
	const op = "pause schedule"
	return s.scheduled(ctx, op, func(ctx context.Context, now int64) error {
		id := bson.E{Key: "_id", Value: scheduleID(k)}
		var ch change
		ch.put("updated_at", now)
		ch.add("rev")
		writes := map[bool]*change{true: &ch} // by whether it is broken
		if paused {
			ch.put("paused", 1)
			ch.drop("live")
		} else {
			ch.put("next_at", int64(0))
			ch.drop("paused")
			sound := change{append(slices.Clone(ch.set), bson.E{Key: "live", Value: 1}), ch.unset, ch.inc}
			writes[false] = &sound
		}
		for broken, write := range writes {
			filter := bson.D{id, {Key: "paused", Value: bson.D{{Key: "$exists", Value: !paused}}}}
			if !paused {
				filter = append(filter, bson.E{Key: "broken", Value: bson.D{{Key: "$exists", Value: broken}}})
			}
			if res, err := s.schedules.UpdateOne(ctx, filter, write.update()); err != nil || res.MatchedCount > 0 {
				return err
			}
		}
		n, err := s.schedules.CountDocuments(ctx, bson.D{id})
		if err == nil && n == 0 {
			err = noSchedule(op, k)
		}
		return err
	})
}

// DeleteSchedule removes the document.
func (s *store) DeleteSchedule(ctx context.Context, k domain.ScheduleKey) error {
	const op = "delete schedule"
	return s.scheduled(ctx, op, func(ctx context.Context, _ int64) error {
		res, err := s.schedules.DeleteOne(ctx, bson.D{{Key: "_id", Value: scheduleID(k)}})
		if err == nil && res.DeletedCount == 0 {
			err = noSchedule(op, k)
		}
		return err
	})
}

// Schedule reads one document.
func (s *store) Schedule(ctx context.Context, k domain.ScheduleKey) (found domain.Schedule, err error) {
	const op = "get schedule"
	err = s.scheduled(ctx, op, func(ctx context.Context, _ int64) error {
		var r scheduleRow
		err := s.schedules.FindOne(ctx, bson.D{{Key: "_id", Value: scheduleID(k)}}).Decode(&r)
		if isNone(err) {
			return noSchedule(op, k)
		}
		found = r.schedule()
		return err
	})
	if err != nil {
		return domain.Schedule{}, err
	}
	return found, nil
}

// ListSchedules reads one page.
func (s *store) ListSchedules(ctx context.Context, tenant string, after domain.ScheduleKey, limit int) (all []domain.Schedule, err error) {
	err = s.scheduled(ctx, "list schedules", func(ctx context.Context, _ int64) error {
		if limit <= 0 {
			return nil
		}
		filter := bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "tenant", Value: bson.D{{Key: "$gt", Value: after.Tenant}}}},
			bson.D{{Key: "tenant", Value: after.Tenant}, {Key: "name", Value: bson.D{{Key: "$gt", Value: after.Name}}}},
		}}}
		if tenant != "" {
			filter = append(filter, bson.E{Key: "tenant", Value: tenant})
		}
		rows, err := s.readSchedules(ctx, filter, options.Find().SetSort(bson.D{{Key: "tenant", Value: 1}, {Key: "name", Value: 1}}).SetLimit(int64(limit)))
		for i := range rows {
			all = append(all, rows[i].schedule())
		}
		return err
	})
	return all, err
}

// DueSchedules reads what is due of some kinds at a time, along the index `due`.
func (s *store) DueSchedules(ctx context.Context, kinds []string, limit int) (answer driven.DueSchedules, err error) {
	err = s.scheduled(ctx, "list due schedules", func(ctx context.Context, now int64) error {
		answer.Now, answer.Next = at(now), driven.NoNext
		var due []scheduleRow
		for part := range slices.Chunk(kinds, mergeBound) {
			some, next, err := s.dueOf(ctx, part, now, max(limit, 0))
			if err != nil {
				return err
			}
			due, answer.Next = append(due, some...), min(answer.Next, next)
		}
		slices.SortFunc(due, func(a, b scheduleRow) int {
			return cmp.Or(cmp.Compare(a.NextAt, b.NextAt), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Name, b.Name))
		})
		for i := range due[:min(max(limit, 0), len(due))] {
			answer.All = append(answer.All, due[i].schedule())
		}
		return nil
	})
	return answer, err
}

var tickOrder = bson.D{{Key: "next_at", Value: 1}, {Key: "tenant", Value: 1}, {Key: "name", Value: 1}}

func (s *store) dueOf(ctx context.Context, kinds []string, now int64, limit int) (due []scheduleRow, next time.Duration, err error) {
	live := func(when string) bson.D {
		return bson.D{{Key: "live", Value: 1}, {Key: "kind", Value: bson.D{{Key: "$in", Value: kinds}}}, {Key: "next_at", Value: bson.D{{Key: when, Value: now}}}}
	}
	if limit > 0 {
		if due, err = s.readSchedules(ctx, live("$lte"), options.Find().SetSort(tickOrder).SetLimit(int64(limit))); err != nil {
			return nil, 0, err
		}
	}
	later, err := s.readSchedules(ctx, live("$gt"), options.Find().SetSort(tickOrder).SetLimit(1))
	if err != nil || len(later) == 0 {
		return due, driven.NoNext, err
	}
	return due, min(span(later[0].NextAt-now), driven.NoNext), nil
}
