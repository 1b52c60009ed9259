package mongostore

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Advance is one transaction where the deployment has them. Else the schedule says
// first whose jobs its tick has, which is the decision, then they are written, and
// then it moves. Whoever comes with the same jobs after a crash goes on from there:
// their ids follow from the tick, so that each is one job. Who has others comes
// too late, and may try again when nobody has gone on for firePatience.
func (s *store) Advance(ctx context.Context, t domain.Tick) (answer driven.Advanced, err error) {
	err = s.scheduled(ctx, "advance schedule", func(ctx context.Context, now int64) error {
		if t.Broken != "" {
			var ch change
			ch.put("broken", t.Broken)
			ch.drop("live")
			answer.Moved, err = s.moveSchedule(ctx, &t, ch.update())
			return err
		}
		if !s.set {
			in := ticks(&t, now)
			if mine, err := s.fire(ctx, &t, in, now); err != nil || !mine {
				return err
			}
			if err := s.insertLoose(ctx, in); err != nil {
				return err
			}
			answer, err = s.advance(ctx, &t, in)
			return err
		}
		return s.inTx(ctx, func(ctx context.Context, _ int) (again bool, err error) {
			in := ticks(&t, now)
			if answer, err = s.advance(ctx, &t, in); err != nil || !answer.Moved {
				return false, err
			}
			return s.attempt(ctx, in, true)
		})
	})
	if err != nil {
		return driven.Advanced{}, err
	}
	return answer, nil
}

// ticks are the jobs of a tick.
func ticks(t *domain.Tick, now int64) *intake {
	in := newIntake(t.Jobs, now)
	for i := range in.rows {
		in.rows[i].Own = 1
	}
	return in
}

// advance moves the schedule to where the tick goes.
func (s *store) advance(ctx context.Context, t *domain.Tick, in *intake) (answer driven.Advanced, err error) {
	var ch change
	ch.put("next_at", stamp(t.To))
	if t.Skipped != 0 {
		ch.inc = append(ch.inc, bson.E{Key: "skipped", Value: t.Skipped})
	}
	ch.drop("firing")
	if n := len(t.Jobs); n > 0 {
		ch.put("last_at", stamp(t.Fired))
		ch.put("last_job", key(t.Jobs[n-1].ID))
	}
	if answer.Moved, err = s.moveSchedule(ctx, t, ch.update()); answer.Moved {
		answer.Jobs = in.res
	}
	return answer, err
}

// standing chooses the schedule where the tick says that it stands.
func standing(t *domain.Tick) bson.D {
	return bson.D{{Key: "_id", Value: scheduleID(t.Key)}, {Key: "rev", Value: t.Rev}, {Key: "next_at", Value: stamp(t.From)}}
}

func (s *store) moveSchedule(ctx context.Context, t *domain.Tick, update bson.D) (moved bool, err error) {
	res, err := s.schedules.UpdateOne(ctx, standing(t), update)
	return err == nil && res.MatchedCount > 0, err
}

// firing says whose jobs the tick has at which a schedule stands.
type firing struct {
	Tick string `bson:"tick"`
	Jobs string `bson:"jobs"` // the name of those jobs
	At   int64  `bson:"at"`
}

// firePatience is how long others wait for whoever has a tick, by the store's clock.
const firePatience = time.Minute

// fire says in the schedule that the tick is that of these jobs, unless it is that
// of others.
func (s *store) fire(ctx context.Context, t *domain.Tick, in *intake, now int64) (mine bool, err error) {
	f := firing{fmt.Sprint(t.Rev, ":", stamp(t.From)), in.name(), now}
	filter := append(standing(t), bson.E{Key: "$or", Value: bson.A{
		bson.D{{Key: "firing.tick", Value: bson.D{{Key: "$ne", Value: f.Tick}}}},
		bson.D{{Key: "firing.jobs", Value: f.Jobs}},
		bson.D{{Key: "firing.at", Value: bson.D{{Key: "$lt", Value: now - ms(firePatience)}}}},
	}})
	res, err := s.schedules.UpdateOne(ctx, filter, bson.D{{Key: "$set", Value: bson.D{{Key: "firing", Value: f}}}})
	return err == nil && res.MatchedCount > 0, err
}

// stamp is a moment as it is stored: 0 where there is none.
func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// declareTries bounds how often a schedule is declared anew that moves meanwhile.
const declareTries = 6

// DeclareSchedules writes each by itself, under the revision that was read, and
// removes what is left of the namespace. A call that was cut short is made again.
func (s *store) DeclareSchedules(ctx context.Context, namespace string, all []domain.Schedule) error {
	return s.scheduled(ctx, "declare schedules", func(ctx context.Context, now int64) error {
		ids := make([]string, len(all))
		for i := range all {
			d := all[i]
			d.Namespace, ids[i] = namespace, scheduleID(d.ScheduleKey)
			if err := s.declareSchedule(ctx, &d, now); err != nil {
				return err
			}
		}
		others := bson.D{{Key: "namespace", Value: namespace}, {Key: "_id", Value: bson.D{{Key: "$nin", Value: ids}}}}
		_, err := s.schedules.DeleteMany(ctx, others)
		return err
	})
}

func (s *store) declareSchedule(ctx context.Context, d *domain.Schedule, now int64) error {
	fresh, err := newSchedule(d, now)
	if err != nil {
		return err
	}
	for range declareTries {
		var old scheduleRow
		err := s.schedules.FindOne(ctx, bson.D{{Key: "_id", Value: fresh.ID}}).Decode(&old)
		switch {
		case isNone(err):
			if _, err = s.schedules.InsertOne(ctx, fresh); !has(err, duplicateKey) {
				return err
			}
			continue
		case err != nil:
			return err
		}
		there := old.schedule()
		if there.Same(d) && there.Broken == "" {
			return nil
		}
		filter := bson.D{{Key: "_id", Value: old.ID}, {Key: "rev", Value: old.Rev}}
		res, err := s.schedules.UpdateOne(ctx, filter, redeclared(&old, &fresh, there.SameTiming(d)))
		if err != nil || res.MatchedCount > 0 {
			return err
		}
	}
	return &domain.Fault{Code: domain.Contended, Op: "declare schedules", Subject: d.Name, Hint: "the schedule keeps changing: try again"}
}

// redeclared is what a new declaration makes of a schedule. Its pause, its last tick
// and what it skipped stay.
func redeclared(old, fresh *scheduleRow, sameTiming bool) bson.D {
	var ch change
	ch.text("namespace", fresh.Namespace)
	ch.text("cron", fresh.Cron)
	ch.text("zone", fresh.Zone)
	ch.number("every", fresh.Every)
	ch.number("missed", int64(fresh.Missed))
	ch.number("missed_max", int64(fresh.MissedMax))
	ch.put("kind", fresh.Kind)
	ch.put("job", fresh.Job)
	ch.put("updated_at", fresh.UpdatedAt)
	ch.put("rev", old.Rev+1)
	ch.drop("broken")
	if old.Paused == 0 {
		ch.put("live", 1)
	}
	if !sameTiming || old.Broken != "" {
		ch.put("next_at", int64(0))
	}
	return ch.update()
}
