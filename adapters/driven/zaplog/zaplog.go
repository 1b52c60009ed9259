package zaplog

import (
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// New makes an observer that writes to the logger. Every job's ordinary way is
// at debug level, so a busy runner is quiet unless it is asked to talk.
func New(log *zap.Logger) driven.Observer { return logger{log} }

type logger struct{ log *zap.Logger }

// Observe writes one line.
func (l logger) Observe(e domain.Event) {
	level, known := levelOf(e.Type)
	if !known {
		level = zapcore.WarnLevel
	}
	if line := l.log.Check(level, e.Type.String()); line != nil {
		line.Write(fields(&e)...)
	}
}

// levelOf is how loud an event is; false for one that it does not know.
func levelOf(t domain.EventType) (zapcore.Level, bool) {
	switch t {
	case domain.EventEnqueued, domain.EventClaimed, domain.EventCompleted, domain.EventSnoozed, domain.EventParked:
		return zapcore.DebugLevel, true
	case domain.EventCancelled, domain.EventReleased, domain.EventPruned, domain.EventBatchFinished, domain.EventScheduleFired:
		return zapcore.InfoLevel, true
	case domain.EventRetried, domain.EventStalled, domain.EventLeaseLost, domain.EventTimedOut, domain.EventOutcomeDropped,
		domain.EventSlotFreed, domain.EventFailureJobNotAdded, domain.EventScheduleSkipped, domain.EventPoolSmall:
		return zapcore.WarnLevel, true
	case domain.EventDied, domain.EventError:
		return zapcore.ErrorLevel, true
	}
	return zapcore.InvalidLevel, false
}

// fields names what the event carries and leaves out what is zero.
func fields(e *domain.Event) []zap.Field {
	list := make([]zap.Field, 0, 12)
	add := func(present bool, f zap.Field) {
		if present {
			list = append(list, f)
		}
	}
	add(!e.Job.IsZero(), zap.Stringer("job", e.Job))
	add(e.Kind != "", zap.String("kind", e.Kind))
	add(e.Queue != "", zap.String("queue", e.Queue))
	add(e.Tenant != "", zap.String("tenant", e.Tenant))
	add(e.Attempt != 0, zap.Int("attempt", e.Attempt))
	add(e.Count != 0, zap.Int("count", e.Count))
	add(e.AtLeast, zap.Bool("at_least", true)) // that many, and more
	add(e.Ran != 0, zap.Duration("ran", e.Ran))
	add(e.Delay != 0, zap.Duration("delay", e.Delay))
	add(e.Waited != 0, zap.Duration("waited", e.Waited))
	add(!e.Batch.IsZero(), zap.Stringer("batch", e.Batch))
	add(e.Schedule != "", zap.String("schedule", e.Schedule))
	add(e.Operation != "", zap.String("operation", e.Operation))
	if e.Err != nil {
		list = append(list, zap.String("error", textOf(e.Err)))
	}
	return list
}

// textOf is the error's message alone: zap's own field would also print what a
// %+v shows, hence a driver's text. A handler's error may panic when asked.
func textOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("an error of type %T, whose text cannot be read", err)
		}
	}()
	return domain.CleanText(err.Error(), domain.MaxMessage)
}
