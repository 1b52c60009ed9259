package mongostore

import (
	"context"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// migrator installs the steps. Every command of a step may be run again, so any
// number of callers run them side by side; whose record of the step is taken, by
// its number, has applied it.
type migrator struct{ s *store }

// record is a document of the collection of migrations.
type record struct {
	Number    int    `bson:"_id"`
	Name      string `bson:"name"`
	AppliedAt int64  `bson:"applied_at"`
}

// Up runs all steps up to a number, also those applied before: an index that was
// dropped or changed by hand is put right.
func (m migrator) Up(ctx context.Context, to int) (done []driven.Step, err error) {
	err = m.each(ctx, to, func(ctx context.Context, steps []step, now int64) error {
		for _, st := range steps {
			if to != 0 && st.number > to {
				return nil
			}
			for _, command := range st.up {
				if err := m.s.run(ctx, command); err != nil {
					return m.fault(ctx, command, err)
				}
			}
			_, err := m.s.book.InsertOne(ctx, record{st.number, st.name, now})
			if err == nil {
				done = append(done, driven.Step{Number: st.number, Name: st.name, AppliedAt: at(now)})
			} else if !has(err, duplicateKey) {
				return err
			}
		}
		return nil
	})
	return done, err
}

// Down takes back the steps above a number, the newest first.
func (m migrator) Down(ctx context.Context, to int) (done []driven.Step, err error) {
	err = m.each(ctx, to, func(ctx context.Context, steps []step, _ int64) error {
		applied, err := m.applied(ctx)
		if err != nil {
			return err
		}
		m.s.installed.Store(0)
		for i := len(steps) - 1; i >= 0 && steps[i].number > to; i-- {
			st := steps[i]
			for _, command := range st.down {
				if err := m.s.run(ctx, command); err != nil {
					return m.fault(ctx, command, err)
				}
			}
			res, err := m.s.book.DeleteOne(ctx, bson.D{{Key: "_id", Value: st.number}})
			if err != nil {
				return err
			}
			if res.DeletedCount > 0 {
				done = append(done, driven.Step{Number: st.number, Name: st.name, AppliedAt: at(applied[st.number])})
			}
		}
		if to == 0 { // nothing of ours stays behind
			return m.s.book.Drop(ctx)
		}
		return nil
	})
	return done, err
}

// Status lists every step.
func (m migrator) Status(ctx context.Context) (list []driven.Step, err error) {
	err = m.each(ctx, 0, func(ctx context.Context, steps []step, _ int64) error {
		applied, err := m.applied(ctx)
		for _, st := range steps {
			one := driven.Step{Number: st.number, Name: st.name}
			if when, there := applied[st.number]; there {
				one.AppliedAt = at(when)
			}
			list = append(list, one)
		}
		return err
	})
	return list, err
}

// Print gives the commands of a step, or of all with 0.
func (m migrator) Print(number int) (string, error) {
	steps, err := loadSteps(m.s.prefix)
	if err != nil {
		return "", fault(context.Background(), "print migrations", err)
	}
	if err := known(steps, number); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, st := range steps {
		if number == 0 || st.number == number {
			b.WriteString(st.print(m.s.prefix))
		}
	}
	return b.String(), nil
}

// each runs work over the steps.
func (m migrator) each(ctx context.Context, to int, work func(ctx context.Context, steps []step, now int64) error) error {
	const op = "migrate"
	err := m.s.begin(ctx)
	var steps []step
	if err == nil {
		steps, err = loadSteps(m.s.prefix)
	}
	if err == nil {
		err = known(steps, to)
	}
	var now int64
	if err == nil {
		ctx = mongo.NewSessionContext(ctx, nil)
		now, err = m.s.now(ctx)
	}
	if err == nil {
		err = work(ctx, steps, now)
	}
	return fault(ctx, op, err)
}

func known(steps []step, number int) error {
	if number < 0 || number > len(steps) {
		return &domain.Fault{Code: domain.NotFound, Op: "migrate", Subject: fmt.Sprint(number), Hint: fmt.Sprintf("the steps are 1 to %d", len(steps))}
	}
	return nil
}

// applied reads when each step was applied.
func (m migrator) applied(ctx context.Context) (map[int]int64, error) {
	cursor, err := m.s.book.Find(ctx, bson.D{})
	if err != nil {
		return nil, err
	}
	var records []record
	err = cursor.All(ctx, &records)
	applied := make(map[int]int64, len(records))
	for _, r := range records {
		applied[r.Number] = r.AppliedAt
	}
	return applied, err
}

// fault says which command was refused.
func (m migrator) fault(ctx context.Context, command bson.D, err error) error {
	code, hint := codeOf(err)
	if ctx.Err() != nil {
		code, hint = domain.Canceled, "the context ended"
	}
	if hint == "" {
		hint = "the server refused this command; the step may be run again"
	}
	subject := fmt.Sprintf("%s %v", command[0].Key, command[0].Value)
	return &domain.Fault{Code: code, Op: "migrate", Subject: domain.CleanText(subject, 120), Hint: hint, Err: err}
}
