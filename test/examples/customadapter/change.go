package customadapter

import (
	"time"

	"github.com/rowlock/rowlock/domain"
)

// change is a new state of one thing, as the log holds it: a job, a batch, a
// schedule or a switch.
type change struct {
	Job   *document  `json:",omitempty"`
	Batch *batchText `json:",omitempty"`
	Plan  *planText  `json:",omitempty"`
	Off   *offText   `json:",omitempty"`
}

// batchText is a batch as JSON.
type batchText struct {
	domain.Batch
	ID, CallbackJob [16]byte
	Gone            bool
}

// planText is a schedule as JSON.
type planText struct {
	domain.Schedule
	Missed  missed
	LastJob [16]byte
	Gone    bool
}

type missed struct{ Policy, Max int }

// offText is a switch as JSON.
type offText struct {
	Sort  int
	Name  string
	Since time.Time // zero: it is on
}

// putBatch writes a new state of a batch.
func (t *tx) putBatch(b domain.Batch, gone bool) {
	if t.batches[b.ID] = b; gone {
		delete(t.batches, b.ID)
	}
	t.after = append(t.after, change{Batch: packBatch(b, gone)})
}

// putPlan writes a new state of a schedule.
func (t *tx) putPlan(p domain.Schedule, gone bool) {
	if t.plans[p.ScheduleKey] = p; gone {
		delete(t.plans, p.ScheduleKey)
	}
	t.after = append(t.after, change{Plan: packPlan(p, gone)})
}

func packBatch(b domain.Batch, gone bool) *batchText {
	return &batchText{Batch: b, ID: b.ID, CallbackJob: b.CallbackJob, Gone: gone}
}

func packPlan(p domain.Schedule, gone bool) *planText {
	return &planText{Schedule: p, Missed: missed{int(p.Missed.Policy), p.Missed.Max}, LastJob: p.LastJob, Gone: gone}
}

func packOff(x domain.Switch, since time.Time) *offText {
	return &offText{Sort: int(x.Sort), Name: x.Name, Since: since}
}

// replay does again what the log says.
func (s *store) replay(c *change) {
	switch {
	case c.Job != nil:
		s.set(c.Job.unpack())
	case c.Batch != nil:
		b := c.Batch.Batch
		b.ID, b.CallbackJob = c.Batch.ID, c.Batch.CallbackJob
		if s.batches[b.ID] = b; c.Batch.Gone {
			delete(s.batches, b.ID)
		}
	case c.Plan != nil:
		p := c.Plan.Schedule
		p.LastJob, p.Missed = c.Plan.LastJob, domain.Missed{Policy: domain.MissedPolicy(c.Plan.Missed.Policy), Max: c.Plan.Missed.Max}
		if s.plans[p.ScheduleKey] = p; c.Plan.Gone {
			delete(s.plans, p.ScheduleKey)
		}
	case c.Off != nil:
		x := domain.Switch{Sort: domain.SwitchSort(c.Off.Sort), Name: c.Off.Name}
		if s.off[x] = c.Off.Since; c.Off.Since.IsZero() {
			delete(s.off, x)
		}
	}
}

// everything is the store's state as changes from nothing.
func (s *store) everything() []change {
	all := []change{}
	for _, r := range s.jobs {
		job := pack(r)
		all = append(all, change{Job: &job})
	}
	for _, b := range s.batches {
		all = append(all, change{Batch: packBatch(b, false)})
	}
	for _, p := range s.plans {
		all = append(all, change{Plan: packPlan(p, false)})
	}
	for x, since := range s.off {
		all = append(all, change{Off: packOff(x, since)})
	}
	return all
}
