package cli

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// jobView is a job in a document.
type jobView struct {
	ID          domain.JobID `json:"id"`
	Kind        string       `json:"kind"`
	Queue       string       `json:"queue"`
	State       domain.State `json:"state"`
	Attempts    int          `json:"attempts"`
	MaxAttempts int          `json:"max_attempts"` // 0: the kind's or the runner's default
	RunAt       moment       `json:"run_at"`
	Error       string       `json:"error"`
	Tenant      string       `json:"tenant"`
	Priority    int          `json:"priority"`
	Stalls      int          `json:"stalls"`
	Snoozes     int          `json:"snoozes"`
	Unique      string       `json:"unique"`
	Waits       string       `json:"waits"` // while blocked: the key of the bound that it waits for
	Batch       string       `json:"batch"` // "": it is in none
	Tags        []string     `json:"tags"`
	Runner      string       `json:"runner"`
	Stuck       bool         `json:"stuck"`
	CreatedAt   moment       `json:"created_at"`
	ClaimedAt   moment       `json:"claimed_at"`
	FinishedAt  moment       `json:"finished_at"`
}

func viewJob(j *domain.Job) jobView {
	tags := j.Tags
	if tags == nil {
		tags = []string{}
	}
	return jobView{
		ID: j.ID, Kind: j.Kind, Queue: j.Queue, State: j.State, Attempts: j.Attempts, MaxAttempts: j.MaxAttempts,
		RunAt: moment(j.RunAt), Error: j.Error, Tenant: j.Tenant, Priority: j.Priority, Stalls: j.Stalls, Snoozes: j.Snoozes,
		Unique: j.UniqueKey, Waits: j.BlockedOn, Batch: idText(j.Batch), Tags: tags, Runner: j.Runner, Stuck: j.Stuck,
		CreatedAt: moment(j.CreatedAt), ClaimedAt: moment(j.ClaimedAt), FinishedAt: moment(j.FinishedAt),
	}
}

// wholeView is a job with everything.
type wholeView struct {
	jobView
	Args       json.RawMessage `json:"args"`
	ArgsGone   bool            `json:"args_forgotten"`
	Result     json.RawMessage `json:"result"`
	Meta       json.RawMessage `json:"meta"`
	Failure    string          `json:"failure_kind"` // "": its kind's; its own kind: it is a failure job
	ForgetArgs bool            `json:"forget_args"`
	LimitKey   string          `json:"limit_key"`
	Turn       string          `json:"turn"` // "", mutex or chain
	Keys       []string        `json:"keys"` // at which it takes turns
	OnDead     string          `json:"on_dead"`
	TimeoutMS  float64         `json:"timeout_ms"` // 0: the runner's default
	RanMS      float64         `json:"ran_ms"`
	LeaseUntil moment          `json:"lease_until"`
	Keep       keepView        `json:"keep"`
	History    []noteView      `json:"history"`
}

// keepView is how long the row stays: "" is the default, else a duration or "forever".
type keepView struct {
	Done      string `json:"done"`
	Dead      string `json:"dead"`
	Cancelled string `json:"cancelled"`
}

type noteView struct {
	At      moment  `json:"at"`
	Attempt int     `json:"attempt"`
	RanMS   float64 `json:"ran_ms"`
	Message string  `json:"message"`
	Stack   string  `json:"stack,omitempty"`
	Runner  string  `json:"runner,omitempty"`
}

func viewWhole(j *domain.Job) (wholeView, error) {
	notes, err := j.History.Notes()
	if err != nil {
		return wholeView{}, err
	}
	v := wholeView{
		jobView: viewJob(j), Args: rawOrNull(j.Args), ArgsGone: j.Forgotten, Result: rawOrNull(j.Result), Meta: rawOrNull(j.Meta),
		Failure: j.FailureKind, ForgetArgs: j.ForgetArgs, LimitKey: j.LimitKey, Keys: append([]string{}, j.Keys...),
		TimeoutMS: millis(j.Timeout), RanMS: millis(j.Ran), LeaseUntil: moment(j.LeaseUntil),
		Keep:    keepView{keepText(j.Keep.Done), keepText(j.Keep.Dead), keepText(j.Keep.Cancelled)},
		History: make([]noteView, 0, len(notes)),
	}
	if j.Turn != domain.NoTurn {
		v.Turn, v.OnDead = j.Turn.Sort().String(), j.OnDead.String()
	}
	for _, n := range notes {
		v.History = append(v.History, noteView{moment(n.At), n.Attempt, millis(n.Ran), n.Message, n.Stack, n.Runner})
	}
	return v, nil
}

// rawOrNull keeps JSON as it is. What is no JSON (a row spoilt from outside) is shown as a string.
func rawOrNull(text []byte) json.RawMessage {
	switch {
	case len(text) == 0:
		return json.RawMessage("null")
	case json.Valid(text):
		return text
	}
	quoted, err := json.Marshal(string(text))
	if err != nil {
		return json.RawMessage("null")
	}
	return quoted
}

func keepText(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < 0:
		return "forever"
	}
	return d.String()
}

// idText is "" for none.
func idText(id interface {
	String() string
	IsZero() bool
}) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

func attemptsText(j *domain.Job) string {
	most := "-" // the runner's default
	if j.MaxAttempts > 0 {
		most = strconv.Itoa(j.MaxAttempts)
	}
	return strconv.Itoa(j.Attempts) + "/" + most
}
