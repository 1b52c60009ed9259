package conformance

import (
	"fmt"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func timeCases() []testCase {
	return []testCase{
		{"cut", timeCut},
		{"zone", timeZone},
		{"edges", timeEdges},
		{"store", timeStore},
		{"spans", timeSpans},
		{"utc", timeUTC},
	}
}

// cut: moments are cut to the millisecond and never rounded up, so what is due
// now is claimed now.
func timeCut(c *rig) {
	for range 5 {
		id := c.one()
		got := c.claimOne()
		equal(c, "job claimed at once", got.Job.ID, id)
		c.settled(done(got))
		c.pass(333 * time.Microsecond)
	}
	now := c.now()
	almost := now.Add(time.Millisecond - time.Nanosecond)
	id := c.one(at(almost))
	equal(c, "due time cut", c.get(id).RunAt, now)
	equal(c, "job due within this millisecond", c.claimOne().Job.ID, id)

	midnight := time.Date(2030, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	equal(c, "due time at midnight", c.get(c.one(at(midnight))).RunAt, midnight.Truncate(time.Millisecond))
	got := c.get(c.one(after(1999 * time.Microsecond)))
	if d := got.RunAt.Sub(got.CreatedAt); d < time.Millisecond || d > 2*time.Millisecond {
		c.Fatalf("a delay of 1.999ms became %v", d)
	}
}

// zone: a moment is the same moment whatever zone it was said in.
func timeZone(c *rig) {
	want := time.Date(2030, 7, 1, 12, 0, 0, 123_000_000, time.UTC)
	for _, zone := range []*time.Location{
		time.UTC, time.FixedZone("east", 14*3600), time.FixedZone("west", -12*3600), time.FixedZone("odd", 5*3600+45*60+17), time.Local,
	} {
		got := c.get(c.one(at(want.In(zone)))).RunAt
		if !got.Equal(want) {
			c.Fatalf("%v said in %s came back as %v", want, zone, got)
		}
	}
	past := c.now().In(time.FixedZone("east", 14*3600))
	c.one(at(past))
	equal(c, "jobs due now, said in another zone", len(c.claim(10)), 1)
	future := c.now().Add(time.Hour).In(time.FixedZone("west", -12*3600))
	c.one(at(future))
	equal(c, "jobs due in an hour, said in another zone", len(c.claim(10)), 0)
}

// edges: the first and the last moments that Rowlock takes are kept and ordered.
func timeEdges(c *rig) {
	edges := []time.Time{
		time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1970, 1, 1, 0, 0, 0, 1_000_000, time.UTC),
		time.Date(1999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
		time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC),
		time.Date(2106, 2, 7, 6, 28, 16, 0, time.UTC),
		time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	}
	ids := make([]domain.JobID, len(edges))
	for i := range edges {
		i = len(edges) - 1 - i
		ids[i] = c.one(at(edges[i]))
	}
	for i, id := range ids {
		got := c.get(id)
		equal(c, "due time", got.RunAt, edges[i])
		want := domain.Scheduled
		if i < 3 {
			want = domain.Ready
		}
		equal(c, fmt.Sprintf("state of a job due at %v", edges[i]), got.State, want)
	}
	c.wantOrder(2, []string{kind}, ids[:3]...)
	far := c.one(after(domain.MaxDelay))
	c.inState(far, domain.Scheduled)
	c.ask(c.request(1))
}

// store: the store's clock alone judges. With a test clock this is shown by
// hours between the two clocks: the suite's Clock stands in 2001.
func timeStore(c *rig) {
	for _, leap := range []time.Duration{0, 7 * time.Hour, 40 * 24 * time.Hour} {
		if c.Advance != nil {
			c.Advance(leap)
		}
		before := c.now()
		row := c.get(c.one(inQueue("b"), after(time.Hour)))
		equal(c, "due time from the time of the same statement", row.RunAt, row.CreatedAt.Add(time.Hour))
		j := c.running()
		row = c.get(j.Job.ID)
		equal(c, "lease from the time of the same statement", row.LeaseUntil, row.ClaimedAt.Add(long))
		equal(c, "recovered jobs", len(c.recover(sweep()).Jobs), 0)
		c.settled(failed(j, time.Minute))
		row = c.get(j.Job.ID)
		c.dueIn(row, before, time.Minute)
		c.wantNil("retry", c.retry(domain.Due{}, j.Job.ID)...)
		c.settled(done(c.claimOne()))
		row = c.get(j.Job.ID)
		if after := c.now(); row.FinishedAt.Before(before) || row.FinishedAt.After(after) {
			c.Fatalf("finished at %v, the store's clock went from %v to %v", row.FinishedAt, before, after)
		}
	}
}

// spans: durations come back as they were written, to the millisecond.
func timeSpans(c *rig) {
	for _, d := range []time.Duration{time.Millisecond, 1234 * time.Millisecond, time.Hour, domain.MaxDelay} {
		n := c.job(keep(domain.Retention{Done: d, Dead: d, Cancelled: domain.KeepForever}))
		n.Timeout = d
		c.add(n)
		j := c.claimOne()
		equal(c, "timeout and retention of the claim", fmt.Sprint(j.Job.Timeout, j.Job.Keep), fmt.Sprint(d, n.Keep))
		o := done(j)
		o.Ran, o.Keep = d, d
		c.settled(o)
		row := c.get(n.ID)
		equal(c, "timeout, retention and run time of the row", fmt.Sprint(row.Timeout, row.Keep, row.Ran), fmt.Sprint(d, n.Keep, d))
	}
	c.inState(c.one(after(long)), domain.Scheduled)
}

// utc: every moment comes back in UTC, to the millisecond.
func timeUTC(c *rig) {
	j := c.running()
	running := c.get(j.Job.ID)
	c.settled(failed(j, long))
	ended := c.ended(done)
	row := c.get(ended)
	for what, got := range map[string]time.Time{
		"created": row.CreatedAt, "due": row.RunAt, "claimed": row.ClaimedAt, "finished": row.FinishedAt, "lease": running.LeaseUntil,
		"claim's created": j.Job.CreatedAt, "claim's due": j.Job.RunAt, "claim's claimed": j.Job.ClaimedAt,
	} {
		if got.IsZero() || got.Location() != time.UTC || got.Nanosecond()%int(time.Millisecond) != 0 {
			c.Fatalf("%s time %v: want it set, in UTC, cut to the millisecond", what, got)
		}
	}
}
