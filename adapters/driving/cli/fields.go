package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// fields is a new job as its flags or its line in a file name it, in text. Flags
// and lines have the same names (max_attempts is --max-attempts) and one reading.
type fields struct {
	text  map[string]string
	lists map[string][]string
	args  []byte // as given, byte by byte
	meta  []byte
}

// shape is what a field's value looks like.
type shape uint8

const (
	unknown shape = iota
	words
	number
	span
	yesNo
	list
	raw
)

func shapeOf(field string) shape {
	switch field {
	case "kind", "queue", "tenant", "unique", "on_conflict", "id", "at", "limit_key", "on_dead", "failure_kind", "batch":
		return words
	case "priority", "max_attempts":
		return number
	case "after", "timeout", "unique_for", "keep_done", "keep_dead", "keep_cancelled":
		return span
	case "forget_args":
		return yesNo
	case "tags", "mutex", "chain":
		return list
	case "args", "meta":
		return raw
	}
	return unknown
}

const knownFields = "kind, args, queue, priority, after, at, unique, unique_for, on_conflict, max_attempts, timeout, tenant, tags, meta, id, mutex, chain, on_dead, limit_key, failure_kind, batch, keep_done, keep_dead, keep_cancelled, forget_args"

// over gives the fields with those of base where they name none.
func (f fields) over(base fields) fields {
	for name, text := range base.text {
		if _, own := f.text[name]; !own && !f.excludes(name) {
			f.text[name] = text
		}
	}
	for name, list := range base.lists {
		if _, own := f.lists[name]; !own && !f.excludes(name) {
			f.setList(name, list)
		}
	}
	if f.meta == nil {
		f.meta = base.meta
	}
	return f
}

// excludes says whether an own field stands against a default: a due time is a
// delay or a moment, turns are those of a mutex or a chain.
func (f fields) excludes(name string) bool {
	other := map[string]string{"after": "at", "at": "after", "mutex": "chain", "chain": "mutex"}[name]
	_, own := f.text[other]
	_, listed := f.lists[other]
	return own || listed
}

func (f *fields) setList(name string, list []string) {
	if f.lists == nil {
		f.lists = map[string][]string{}
	}
	f.lists[name] = list
}

// job reads the fields. Its faults name the field as Subject.
func (f fields) job() (domain.NewJob, error) {
	j := domain.NewJob{Args: f.args, Tags: f.lists["tags"], Meta: json.RawMessage(f.meta)}
	if j.Args == nil {
		j.Args = []byte("{}")
	}
	names := make([]string, 0, len(f.text))
	for name := range f.text {
		names = append(names, name)
	}
	slices.Sort(names) // so that of two faults always the same is told
	for _, name := range names {
		if err := setField(&j, name, f.text[name]); err != nil {
			return j, badField(name, err)
		}
	}
	if err := f.turns(&j); err != nil {
		return j, err
	}
	return j, f.policy(&j)
}

// turns reads mutex, chain and on_dead.
func (f fields) turns(j *domain.NewJob) error {
	mutex, chain := f.lists["mutex"], f.lists["chain"]
	switch {
	case len(mutex) > 0 && len(chain) > 0:
		return badField("chain", fmt.Errorf("a job takes turns at mutex keys or at chains, not both"))
	case len(mutex) > 0:
		j.Turn, j.Keys = domain.TurnMutex, mutex
	case len(chain) > 0:
		j.Turn, j.Keys = domain.TurnChain, chain
	}
	switch text, ok := f.text["on_dead"]; {
	case !ok || text == "continue":
	case text != "block":
		return badField("on_dead", fmt.Errorf("give continue or block"))
	case len(chain) == 0:
		return badField("on_dead", fmt.Errorf("there is no chain to block"))
	default:
		j.OnDead = domain.Block
	}
	return nil
}

func setField(j *domain.NewJob, name, text string) (err error) {
	switch name {
	case "kind":
		j.Kind = text
	case "queue":
		j.Queue = text
	case "tenant":
		j.Tenant = text
	case "id":
		j.ID, err = domain.ParseJobID(text)
	case "limit_key":
		j.LimitKey = text
	case "unique":
		j.Unique = &domain.Unique{Key: text}
	case "failure_kind":
		j.FailureKind = text
	case "batch":
		j.Batch, err = domain.ParseBatchID(text)
	case "priority":
		j.Priority, err = strconv.Atoi(text)
	case "max_attempts":
		j.MaxAttempts, err = positive(text)
	case "at":
		j.Due.At, err = readMoment(text)
	case "after":
		j.Due.After, err = domain.ParseSpan(text)
	case "timeout":
		j.Timeout, err = timeout(text)
	case "keep_done":
		j.Keep.Done, err = keep(text)
	case "keep_dead":
		j.Keep.Dead, err = keep(text)
	case "keep_cancelled":
		j.Keep.Cancelled, err = keep(text)
	case "forget_args":
		j.ForgetArgs, err = strconv.ParseBool(text)
	}
	return err
}

// policy reads unique_for and on_conflict, which are nothing without a unique key.
func (f fields) policy(j *domain.NewJob) (err error) {
	for _, name := range []string{"unique_for", "on_conflict"} {
		text, ok := f.text[name]
		switch {
		case !ok:
			continue
		case j.Unique == nil:
			return badField(name, fmt.Errorf("there is no unique key"))
		case name == "on_conflict":
			j.Unique.OnConflict, err = domain.ParseOnConflict(text)
		default:
			j.Unique.Window, err = window(text)
		}
		if err != nil {
			return badField(name, err)
		}
	}
	return nil
}

// window reads how long a unique key is held. Which bucket now lies in is found when
// the job is enqueued.
func window(text string) (time.Duration, error) {
	d, err := domain.ParseSpan(text)
	if err == nil && d < domain.MinUniqueWindow {
		err = fmt.Errorf("it must be %v or more", domain.MinUniqueWindow)
	}
	return d, err
}

// badField is the fault of a field; of a plain error the text must hold no value.
func badField(name string, err error) error {
	hint := domain.HintOf(err)
	if _, ok := err.(*strconv.NumError); ok { //nolint:errorlint // exactly what strconv answers
		hint = "it must be a whole number"
		if shapeOf(name) == yesNo {
			hint = "give true or false"
		}
	} else if hint == "" {
		hint = err.Error()
	}
	return &domain.Fault{Code: domain.Invalid, Op: "read job", Subject: name, Hint: hint}
}

func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = fmt.Errorf("it must be 1 or more")
	}
	return n, err
}

func timeout(text string) (time.Duration, error) {
	d, err := domain.ParseSpan(text)
	if err == nil && d <= 0 {
		err = fmt.Errorf("it must be more than 0")
	}
	return d, err
}

// keep reads a retention: a duration, or forever.
func keep(text string) (time.Duration, error) {
	if text == "forever" {
		return domain.KeepForever, nil
	}
	d, err := domain.ParseSpan(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf(`give a duration like "7d", or forever`)
	}
	return d, nil
}

// readMoment reads a moment with its zone.
func readMoment(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	if err != nil {
		return at, fmt.Errorf("give a moment with its zone, like 2026-01-31T09:00:00Z")
	}
	return at, nil
}
