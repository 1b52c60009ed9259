package domain

import "time"

// EventType names what happened.
type EventType uint8

// The events. Args never appear in any of them.
const (
	EventEnqueued EventType = iota
	EventClaimed
	EventCompleted
	EventRetried
	EventSnoozed
	EventDied
	EventCancelled // given up by its handler, or by an operator while it ran
	EventReleased  // given back unrun
	EventStalled   // a claim's lease ran out and it was put back
	EventLeaseLost
	EventTimedOut
	EventOutcomeDropped // the claim was no longer ours when the outcome came
	EventPruned
	EventParked             // a claimed job lacks a key of a bound and waits for it
	EventSlotFreed          // a slot whose job was gone was found and is freed after its linger
	EventFailureJobNotAdded // a job died and its failure job was refused
	EventBatchFinished
	EventScheduleFired
	EventScheduleSkipped // ticks passed without a job of their own, or a declared one is left out
	EventPoolSmall       // a runner started on a pool of connections smaller than it needs
	EventError           // a loop or a call failed; it goes on
	eventTypes
)

var eventNames = [eventTypes]string{
	"enqueued", "claimed", "completed", "retried", "snoozed", "died", "cancelled", "released",
	"stalled", "lease_lost", "timed_out", "outcome_dropped", "pruned", "parked", "slot_freed",
	"failure_job_not_added", "batch_finished", "schedule_fired", "schedule_skipped", "pool_small", "error",
}

// EventTypes lists every event type.
func EventTypes() []EventType {
	all := make([]EventType, eventTypes)
	for i := range all {
		all[i] = EventType(i)
	}
	return all
}

// String is the event's name.
func (t EventType) String() string {
	if t < eventTypes {
		return eventNames[t]
	}
	return "unknown"
}

// Event tells an observer what happened. Fields that do not apply are zero.
type Event struct {
	Type      EventType
	Job       JobID
	Kind      string
	Queue     string
	Tenant    string
	Attempt   int
	Ran       time.Duration // how long the handler ran
	Delay     time.Duration // until the next attempt
	Waited    time.Duration // from due to claimed
	Count     int           // for events of many rows, e.g. pruned; of EventPoolSmall the pool's connections
	AtLeast   bool          // Count is of those that were counted: there are more
	Batch     BatchID       // of EventBatchFinished, and of a member's EventEnqueued
	Schedule  string        // its name
	Operation string        // what failed, for EventError; what became of the holder, for EventEnqueued
	Err       error
}
