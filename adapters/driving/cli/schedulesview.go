package cli

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// scheduleView is a schedule in a document.
type scheduleView struct {
	Name      string              `json:"name"`
	Tenant    string              `json:"tenant"`
	Namespace string              `json:"namespace"` // of the application that declares it; "": an operator's
	Cron      string              `json:"cron"`
	Zone      string              `json:"zone"`
	EveryMS   float64             `json:"every_ms"`
	Missed    domain.MissedPolicy `json:"missed"`
	MissedMax int                 `json:"missed_max"` // of all
	Kind      string              `json:"kind"`
	Queue     string              `json:"queue"`
	Priority  int                 `json:"priority"`
	Args      json.RawMessage     `json:"args"`
	Paused    bool                `json:"paused"`
	Broken    string              `json:"broken"`
	Handled   *bool               `json:"handled"` // by a live runner; null: not known
	NextAt    moment              `json:"next_at"`
	LastAt    moment              `json:"last_at"`
	LastJob   *domain.JobID       `json:"last_job"`
	Skipped   int64               `json:"skipped"`
	CreatedAt moment              `json:"created_at"`
	UpdatedAt moment              `json:"updated_at"`
}

func viewSchedule(d *domain.Schedule) scheduleView {
	v := scheduleView{
		Name: d.Name, Tenant: d.Tenant, Namespace: d.Namespace,
		Cron: d.Timing.Cron, Zone: d.Timing.Zone, EveryMS: millis(d.Timing.Every), Missed: d.Missed.Policy, MissedMax: d.Missed.Max,
		Kind: d.Job.Kind, Queue: d.Job.Queue, Priority: d.Job.Priority, Args: rawOrNull(d.Job.Args),
		Paused: d.Paused, Broken: d.Broken, NextAt: moment(d.NextAt), LastAt: moment(d.LastAt), Skipped: d.Skipped,
		CreatedAt: moment(d.CreatedAt), UpdatedAt: moment(d.UpdatedAt),
	}
	if !d.LastJob.IsZero() {
		v.LastJob = &d.LastJob
	}
	return v
}

// row is the schedule in a table.
func (v *scheduleView) row() []string {
	state := "on"
	switch {
	case v.Broken != "":
		state = "broken: " + domain.CleanText(v.Broken, 120)
	case v.Paused:
		state = "paused"
	}
	handled := "?"
	if v.Handled != nil {
		handled = map[bool]string{true: "yes", false: "no"}[*v.Handled]
	}
	missed := v.Missed.String()
	if v.MissedMax > 0 {
		missed += " " + strconv.Itoa(v.MissedMax)
	}
	return []string{
		v.Name, v.Tenant, v.Kind, v.when(), v.NextAt.String(), v.LastAt.String(), state, handled, missed, strconv.FormatInt(v.Skipped, 10),
	}
}

// when is the timing for people.
func (v *scheduleView) when() string {
	switch {
	case v.Cron == "":
		return "every " + time.Duration(v.EveryMS*float64(time.Millisecond)).String()
	case v.Zone == "":
		return v.Cron + " UTC"
	}
	return v.Cron + " " + v.Zone
}
