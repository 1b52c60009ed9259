package zaplog

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/rowlock/rowlock/domain"
)

func TestEveryEventHasItsLevelAndLine(t *testing.T) {
	want := map[domain.EventType]zapcore.Level{
		domain.EventEnqueued:           zapcore.DebugLevel,
		domain.EventClaimed:            zapcore.DebugLevel,
		domain.EventCompleted:          zapcore.DebugLevel,
		domain.EventSnoozed:            zapcore.DebugLevel,
		domain.EventCancelled:          zapcore.InfoLevel,
		domain.EventReleased:           zapcore.InfoLevel,
		domain.EventPruned:             zapcore.InfoLevel,
		domain.EventRetried:            zapcore.WarnLevel,
		domain.EventStalled:            zapcore.WarnLevel,
		domain.EventLeaseLost:          zapcore.WarnLevel,
		domain.EventTimedOut:           zapcore.WarnLevel,
		domain.EventOutcomeDropped:     zapcore.WarnLevel,
		domain.EventParked:             zapcore.DebugLevel,
		domain.EventSlotFreed:          zapcore.WarnLevel,
		domain.EventFailureJobNotAdded: zapcore.WarnLevel,
		domain.EventBatchFinished:      zapcore.InfoLevel,
		domain.EventScheduleFired:      zapcore.InfoLevel,
		domain.EventScheduleSkipped:    zapcore.WarnLevel,
		domain.EventPoolSmall:          zapcore.WarnLevel,
		domain.EventDied:               zapcore.ErrorLevel,
		domain.EventError:              zapcore.ErrorLevel,
	}
	for _, event := range domain.EventTypes() {
		t.Run(event.String(), func(t *testing.T) {
			level, known := levelOf(event)
			if !known {
				t.Fatal("this event has no level in levelOf")
			}
			core, lines := observer.New(zapcore.DebugLevel)
			New(zap.New(core)).Observe(domain.Event{Type: event})
			if lines.Len() != 1 || lines.All()[0].Level != level || lines.All()[0].Message != event.String() {
				t.Fatalf("logged %v", lines.All())
			}
			if level != want[event] {
				t.Errorf("its level is %v, want %v", level, want[event])
			}
		})
	}
}

func TestAnEventFromTheFutureIsLogged(t *testing.T) {
	core, lines := observer.New(zapcore.DebugLevel)
	New(zap.New(core)).Observe(domain.Event{Type: 250, Kind: "k"})
	if lines.Len() != 1 || lines.All()[0].Level != zapcore.WarnLevel {
		t.Errorf("logged %v", lines.All())
	}
}

// leaky is what a driver's error may be: %+v tells more than its message does.
type leaky struct{}

func (leaky) Error() string                 { return "code 22P02" }
func (leaky) Format(s fmt.State, verb rune) { fmt.Fprint(s, "args: {\"card\":\"4111\"}") }

type broken struct{}

func (broken) Error() string { panic("no text") }

func TestALineCarriesWhatTheEventDoes(t *testing.T) {
	id, err := domain.ParseJobID("0190a000-0000-7000-8000-000000000001")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		event domain.Event
		want  map[string]any
	}{
		"empty": {domain.Event{}, map[string]any{}},
		"a job": {
			domain.Event{
				Type: domain.EventRetried, Job: id, Kind: "mail", Queue: "q", Tenant: "acme", Attempt: 2,
				Ran: time.Second, Delay: time.Minute, Waited: time.Hour, Err: errors.New("bounced"),
			},
			map[string]any{
				"job": id.String(), "kind": "mail", "queue": "q", "tenant": "acme", "attempt": int64(2),
				"ran": time.Second, "delay": time.Minute, "waited": time.Hour, "error": "bounced",
			},
		},
		"many rows":    {domain.Event{Type: domain.EventPruned, Count: 7}, map[string]any{"count": int64(7)}},
		"a verbose %v": {domain.Event{Type: domain.EventError, Operation: "claim", Err: leaky{}}, map[string]any{"operation": "claim", "error": "code 22P02"}},
		"a fault": {
			domain.Event{Type: domain.EventError, Err: &domain.Fault{Code: domain.Unavailable, Op: "claim", Err: leaky{}}},
			map[string]any{"error": "claim: unavailable"},
		},
		"a NUL":       {domain.Event{Err: errors.New("a\x00b")}, map[string]any{"error": "a␀b"}},
		"a bad error": {domain.Event{Err: broken{}}, map[string]any{"error": "an error of type zaplog.broken, whose text cannot be read"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			core, lines := observer.New(zapcore.DebugLevel)
			New(zap.New(core)).Observe(c.event)
			got := lines.All()[0].ContextMap()
			if len(got) != len(c.want) {
				t.Errorf("logged %v, want %v", got, c.want)
			}
			for key, value := range c.want {
				if got[key] != value {
					t.Errorf("%s is %v, want %v", key, got[key], value)
				}
			}
		})
	}
}

func TestAQuietLoggerCostsLittle(t *testing.T) {
	log := New(zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(nil), zapcore.InfoLevel)))
	event := domain.Event{Type: domain.EventCompleted, Kind: "mail", Queue: "q"}
	if n := testing.AllocsPerRun(100, func() { log.Observe(event) }); n > 0 {
		t.Errorf("a line that is not written costs %v allocations", n)
	}
}
