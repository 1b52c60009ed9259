package config

import (
	"errors"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rowlock/rowlock/domain"
)

// document is the file as it is written.
type document struct {
	Namespace string     `yaml:"namespace"`
	Schedules []schedule `yaml:"schedules"`
}

type schedule struct {
	Name      string `yaml:"name"`
	Tenant    string `yaml:"tenant"`
	Cron      string `yaml:"cron"`
	Zone      string `yaml:"zone"`
	Every     string `yaml:"every"`
	Missed    string `yaml:"missed"`
	MissedMax int    `yaml:"missed_max"`

	Kind          string    `yaml:"kind"`
	Args          yaml.Node `yaml:"args"`
	Queue         string    `yaml:"queue"`
	Priority      int       `yaml:"priority"`
	MaxAttempts   int       `yaml:"max_attempts"`
	Timeout       string    `yaml:"timeout"`
	FailureKind   string    `yaml:"failure_kind"`
	Tags          []string  `yaml:"tags"`
	Meta          yaml.Node `yaml:"meta"`
	KeepDone      string    `yaml:"keep_done"`
	KeepDead      string    `yaml:"keep_dead"`
	KeepCancelled string    `yaml:"keep_cancelled"`
	ForgetArgs    bool      `yaml:"forget_args"`

	line int
}

// UnmarshalYAML keeps the line, for faults.
func (s *schedule) UnmarshalYAML(node *yaml.Node) error {
	type plain schedule
	if err := known(node); err != nil {
		return err
	}
	if err := node.Decode((*plain)(s)); err != nil {
		return err
	}
	s.line = node.Line
	return nil
}

// known refuses fields that are not known: the decoder does not where a type reads itself.
func known(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		switch key := node.Content[i]; key.Value {
		case "name", "tenant", "cron", "zone", "every", "missed", "missed_max", "kind", "args", "queue", "priority", "max_attempts",
			"timeout", "failure_kind", "tags", "meta", "keep_done", "keep_dead", "keep_cancelled", "forget_args":
		default:
			return fmt.Errorf("line %d: field %s not found", key.Line, key.Value)
		}
	}
	return nil
}

// file judges the whole.
func (d *document) file() (File, error) {
	if d.Namespace == "" && len(d.Schedules) > 0 {
		return File{}, bad("namespace", "name the application whose schedules these are: workers of one namespace replace each other's")
	}
	if d.Namespace != "" {
		if err := domain.ValidateName("namespace", d.Namespace, domain.MaxGroup); err != nil {
			return File{}, err
		}
	}
	file := File{Namespace: d.Namespace}
	lines := make(map[domain.ScheduleKey]int)
	for i := range d.Schedules {
		s := &d.Schedules[i]
		made, err := s.schedule()
		if err != nil {
			return File{}, bad(fmt.Sprintf("line %d: schedule %q", s.line, domain.CleanText(s.Name, 80)), text(err))
		}
		if first, twice := lines[made.ScheduleKey]; twice {
			return File{}, bad(fmt.Sprintf("line %d: schedule %q", s.line, domain.CleanText(s.Name, 80)), fmt.Sprintf("there is one of this name in line %d", first))
		}
		lines[made.ScheduleKey] = s.line
		file.Schedules = append(file.Schedules, made)
	}
	return file, nil
}

// text is a fault without its operation and code.
func text(err error) string {
	var f *domain.Fault
	switch {
	case !errors.As(err, &f):
		return err.Error()
	case f.Subject == "":
		return f.Hint
	}
	return f.Subject + ": " + f.Hint
}

func (s *schedule) schedule() (made domain.Schedule, err error) {
	job := domain.NewJob{
		Kind: s.Kind, Queue: s.Queue, Priority: s.Priority, MaxAttempts: s.MaxAttempts, FailureKind: s.FailureKind, Tags: s.Tags, ForgetArgs: s.ForgetArgs,
	}
	if job.Queue == "" {
		job.Queue = "default"
	}
	if job.Args, err = jsonOf(&s.Args); err != nil {
		return made, err
	}
	if job.Args == nil {
		job.Args = []byte("{}")
	}
	if job.Meta, err = jsonOf(&s.Meta); err != nil {
		return made, err
	}
	made = domain.Schedule{
		ScheduleKey: domain.ScheduleKey{Tenant: s.Tenant, Name: s.Name},
		Timing:      domain.Timing{Cron: s.Cron, Zone: s.Zone},
	}
	if err := s.spans(&made.Timing, &job); err != nil {
		return made, err
	}
	made.Job = domain.TemplateOf(&job)
	if made.Missed, err = s.policy(); err != nil {
		return made, err
	}
	return made, made.Validate()
}

// spans reads the durations.
func (s *schedule) spans(timing *domain.Timing, job *domain.NewJob) (err error) {
	for _, span := range []struct {
		to      *time.Duration
		text    string
		forever bool
	}{
		{&timing.Every, s.Every, false},
		{&job.Timeout, s.Timeout, false},
		{&job.Keep.Done, s.KeepDone, true},
		{&job.Keep.Dead, s.KeepDead, true},
		{&job.Keep.Cancelled, s.KeepCancelled, true},
	} {
		if *span.to, err = spanOf(span.text, span.forever); err != nil {
			return err
		}
	}
	return nil
}

// spanOf reads a duration, "" for none.
func spanOf(text string, forever bool) (time.Duration, error) {
	switch {
	case text == "":
		return 0, nil
	case forever && text == "forever":
		return domain.KeepForever, nil
	}
	d, err := domain.ParseSpan(text)
	if err == nil && d <= 0 {
		return 0, bad(text, "a duration must be more than 0")
	}
	return d, err
}

func (s *schedule) policy() (m domain.Missed, err error) {
	if s.Missed != "" {
		if m.Policy, err = domain.ParseMissedPolicy(s.Missed); err != nil {
			return m, err
		}
	}
	switch {
	case m.Policy == domain.MissedAll && s.MissedMax == 0:
		m.Max = 10
	case m.Policy != domain.MissedAll && s.MissedMax != 0:
		return m, bad("missed_max", "it goes with missed: all")
	default:
		m.Max = s.MissedMax
	}
	return m, nil
}
