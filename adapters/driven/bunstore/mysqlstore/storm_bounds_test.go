package mysqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/adapters/driven/retrystore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/storekit"
)

func (l *lost) Admit(ctx context.Context, r driven.AdmitRequest) (driven.Admission, error) {
	got, err := l.Store.Admit(ctx, r)
	l.note(err)
	return got, err
}

func (l *lost) Wake(ctx context.Context, keys []string) (driven.Woken, error) {
	got, err := l.Store.Wake(ctx, keys)
	l.note(err)
	return got, err
}

// TestStormOfBounds has 8 claimers work off jobs that share ten keys of a limit of
// two and ten turns: no error reaches anybody, each job is run once, none is
// stranded though nothing sweeps, and no key has more at once than it allows.
func TestStormOfBounds(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		total := 120
		if stress() {
			total = 2000
		}
		b := openBare(t, mysqlstore.Config{DSN: p.dsn(t)})
		up(t, b)
		below := &lost{Store: b.Store}
		b.Store = below
		c := &crowd{
			weather: weather{t: t, s: retrystore.Wrap(b).Store, ran: map[domain.JobID]int{}, total: total},
			at:      map[string]int{},
		}
		c.fill()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		for range 8 {
			c.Go(func() { c.work(ctx) })
		}
		c.Wait()
		if len(c.ran) != total {
			t.Errorf("%d of %d jobs ran", len(c.ran), total)
		}
		for id, times := range c.ran {
			if times != 1 {
				t.Errorf("job %s ran %d times", id, times)
			}
		}
		t.Logf("%d jobs, parked %d times, %d calls lost to others", len(c.ran), c.parked, below.n.Load())
	})
}

// crowd are claimers of jobs with bounds.
type crowd struct {
	weather
	at     map[string]int // who runs at each key
	parked int
}

func (c *crowd) fill() {
	ctx, in := c.t.Context(), storekit.Jobs(c.total)
	for i := range in {
		in[i].LimitKey = fmt.Sprint(i % 10)
		in[i].Turn, in[i].Keys = domain.TurnMutex, []string{fmt.Sprint(i / 10 % 10)}
	}
	if _, err := c.s.Insert(ctx, in); err != nil {
		c.t.Fatal(err, errors.Unwrap(err))
	}
	limit := domain.Declaration{Kind: "k", Sort: domain.BoundLimit, Group: "g", N: 2}
	if err := c.s.Declare(ctx, []string{"k"}, []domain.Declaration{limit}); err != nil {
		c.t.Fatal(err, errors.Unwrap(err))
	}
}

func (c *crowd) work(ctx context.Context) {
	for !c.done() {
		if err := c.round(ctx); err != nil {
			c.t.Error(err, errors.Unwrap(err))
			return
		}
	}
}

// round claims, admits, settles what may run, and wakes who waits for it.
func (c *crowd) round(ctx context.Context) error {
	claims, err := c.s.Claim(ctx, storekit.Request(10))
	if err != nil || len(claims.Jobs) == 0 {
		return err
	}
	var ask driven.AdmitRequest
	tickets := map[domain.JobID]domain.Ticket{}
	for _, j := range claims.Jobs {
		tickets[j.Job.ID] = j.Ticket()
		ask.Wants = append(ask.Wants, driven.Want{Ticket: j.Ticket(), Kind: j.Job.Kind, Limit: true, Turn: true, OwnLimit: j.Job.LimitKey})
	}
	got, err := c.s.Admit(ctx, ask)
	if err != nil {
		return err
	}
	wake, out := got.Wake, make([]driven.Outcome, len(got.Admitted))
	for i, a := range got.Admitted {
		out[i] = driven.Outcome{Ticket: tickets[a.ID], To: domain.Done, Counts: true, Keep: time.Hour, Turn: true}
		for _, slot := range a.Slots {
			out[i].Slots = append(out[i].Slots, domain.SlotEnd{Slot: slot.Slot})
			wake = append(wake, slot.Key)
		}
	}
	c.enter(got)
	c.leave(got)
	if res, err := c.s.Settle(ctx, out); err != nil || len(res.Dropped) > 0 {
		return errors.Join(err, fmt.Errorf("dropped %v", res.Dropped))
	}
	_, err = c.s.Wake(ctx, wake)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range out {
		c.ran[o.Ticket.ID]++
	}
	return err
}

// enter counts who starts, leave who is about to end.
func (c *crowd) enter(got driven.Admission) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parked += len(got.Parked)
	for _, a := range got.Admitted {
		for _, slot := range a.Slots {
			c.at[slot.Key]++
			if k, _ := domain.ParseBoundKey(slot.Key); c.at[slot.Key] > 2 || k.Sort.Turns() && c.at[slot.Key] > 1 {
				c.t.Errorf("%d run at %q", c.at[slot.Key], slot.Key)
			}
		}
	}
}

func (c *crowd) leave(got driven.Admission) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range got.Admitted {
		for _, slot := range a.Slots {
			c.at[slot.Key]--
		}
	}
}
