package customadapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// record is a job's row: the job and what only the store looks at. It is a value
// whose slices nobody writes to; a change is a new record.
type record struct {
	domain.Job
	Token   domain.Token // set exactly while running
	Settled domain.Token // of the last claim whose outcome was written
	Lock    string       // the unique key that it holds, none once it is terminal
	Expires time.Time    // terminal: when it may be pruned, zero for never
	Turns   []string     // stored keys at which it takes turns
	Due     time.Time    // its place in a chain, which a retry does not change
	Loose   bool         // dead, and an operator released its chains
	Gone    bool         // deleted
}

// document is a record as JSON. Fields that JSON would not give back as they
// were stand here again, in a form that it does.
type document struct {
	record
	State uint8
	Batch [16]byte
	Meta  []byte
}

func pack(r record) document {
	return document{record: r, State: uint8(r.State), Batch: r.Batch, Meta: r.Meta}
}

func (d document) unpack() record {
	r := d.record
	r.State, r.Batch, r.Meta = domain.State(d.State), d.Batch, d.Meta
	return r
}

// write appends one transaction as one line. A line that was not written whole is taken back.
func (s *store) write(op string, changes []change) error {
	text, err := line(changes)
	if err != nil {
		return &domain.Fault{Code: domain.Internal, Op: op, Err: err}
	}
	if _, err := s.log.Write(text); err != nil {
		err = errors.Join(err, s.log.Truncate(s.size))
		return &domain.Fault{Code: domain.Unavailable, Op: op, Hint: "the file could not be written", Err: err}
	}
	s.size += int64(len(text))
	return nil
}

func line(changes []change) ([]byte, error) {
	if changes == nil {
		changes = []change{}
	}
	text, err := json.Marshal(changes)
	return append(text, '\n'), err
}

// load replays the file, writes it anew without what is past, and opens it.
func (s *store) load(path string) error {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	n := 0
	for one := range bytes.Lines(text) {
		if n++; one[len(one)-1] != '\n' {
			break // the process died while it wrote this: it never was
		}
		var changes []change
		if err := json.Unmarshal(one, &changes); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		for i := range changes {
			s.replay(&changes[i])
		}
	}
	if text, err = line(s.everything()); err != nil {
		return err
	}
	if err := replace(path, text); err != nil {
		return err
	}
	s.size = int64(len(text))
	s.log, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	return err
}

// replace changes a file as a whole or not at all.
func replace(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
