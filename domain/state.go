package domain

import "strings"

// State is where a job stands in its life. The numbers are stored: they never change.
type State uint8

// The states of a job.
const (
	Ready     State = 0 // due, in the claim index
	Scheduled State = 1 // moved by time: delayed or backing off
	Blocked   State = 2 // parked on one key until it frees
	Running   State = 3 // claimed by a runner, under a token and a lease
	Done      State = 4 // the handler succeeded
	Dead      State = 5 // no attempt is left, or it was buried
	Cancelled State = 6 // given up by its handler or an operator
)

var stateNames = [...]string{"ready", "scheduled", "blocked", "running", "done", "dead", "cancelled"}

// States lists every state in the order of its number.
func States() []State {
	return []State{Ready, Scheduled, Blocked, Running, Done, Dead, Cancelled}
}

// String is the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// MarshalText gives the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Terminal says whether only an operator's retry can move the job again.
func (s State) Terminal() bool { return s >= Done && s <= Cancelled }

// Pending says whether the job waits for its (next) run.
func (s State) Pending() bool { return s <= Blocked }

// ParseState reads a state's name; the Invalid fault for another word names the states.
func ParseState(name string) (State, error) {
	for i, known := range stateNames {
		if name == known {
			return State(i), nil
		}
	}
	return 0, &Fault{
		Code: Invalid, Op: "parse state", Subject: CleanText(name, 80),
		Hint: "the states are " + strings.Join(stateNames[:], ", "),
	}
}

// Act is what moves a job from one state to another.
type Act uint8

// The acts.
const (
	ActClaim      Act = iota // a runner takes a due job
	ActSettle                // the runner records the attempt's outcome
	ActRecover               // any runner puts back a claim whose lease ran out
	ActPromote               // time made a scheduled job due
	ActPark                  // a claimed job lacks a key
	ActWake                  // the key that a job was parked on frees
	ActRetry                 // an operator runs it (again)
	ActCancel                // an operator gives it up
	ActReschedule            // an operator moves its due time
)

// CanMove says whether an act may take a job from one state to another. Whatever
// it does not name is refused: a terminal state is left by an operator's retry only.
func CanMove(act Act, from, to State) bool {
	switch act {
	case ActClaim:
		return from == Ready && to == Running
	case ActSettle:
		return from == Running && (to.Terminal() || to == Scheduled || to == Ready)
	case ActRecover:
		return from == Running && (to == Scheduled || to == Dead)
	case ActPromote:
		return from == Scheduled && to == Ready
	case ActPark:
		return from == Running && to == Blocked
	case ActWake:
		return from == Blocked && to == Ready
	case ActRetry:
		return (from.Pending() || from.Terminal()) && (to == Ready || to == Scheduled)
	case ActCancel:
		return (from.Pending() || from == Running) && to == Cancelled
	case ActReschedule:
		return from.Pending() && (to == Ready || to == Scheduled)
	}
	return false
}
