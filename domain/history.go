package domain

import (
	"encoding/json"
	"fmt"
	"time"
)

// Note is one line of a job's history: an attempt that failed, or a stall.
type Note struct {
	At      time.Time     `json:"at"`
	Attempt int           `json:"attempt"`
	Ran     time.Duration `json:"ran_ns"`
	Message string        `json:"message"`
	Stack   string        `json:"stack,omitempty"`
	Runner  string        `json:"runner,omitempty"`
}

// Clean bounds every text of the note.
func (n Note) Clean() Note {
	n.At = n.At.UTC().Truncate(time.Millisecond)
	if n.At.Year() < 0 || n.At.After(maxMoment) { // what JSON cannot say
		n.At = time.Time{}
	}
	n.Message = CleanText(n.Message, MaxMessage)
	n.Stack = CleanText(n.Stack, MaxStack)
	n.Runner = CleanText(n.Runner, MaxRunner)
	return n
}

// History is the stored text of a job's notes, oldest first: a JSON array, or
// empty. It stays text until somebody wants to read it.
type History string

// Add appends a note, cleaned, and keeps the last MaxHistory of them. A history
// that cannot be read starts anew: recording a failure never fails.
func (h History) Add(n Note) History {
	notes, _ := h.Notes()
	notes = append(notes, n.Clean())
	if extra := len(notes) - MaxHistory; extra > 0 {
		notes = notes[extra:]
	}
	text, err := json.Marshal(notes)
	if err != nil { // no note holds what JSON cannot say
		return h
	}
	return History(text)
}

// Notes reads the history.
func (h History) Notes() ([]Note, error) {
	if h == "" {
		return nil, nil
	}
	var notes []Note
	if err := json.Unmarshal([]byte(h), &notes); err != nil {
		return nil, &Fault{Code: Internal, Op: "read history", Hint: "the stored text is not a list of notes", Err: err}
	}
	return notes, nil
}

// StallMessage is what the history says of a claim whose lease ran out.
func StallMessage(runner string) string {
	return CleanText(fmt.Sprintf("stalled: the lease of runner %q ran out", runner), MaxMessage)
}
