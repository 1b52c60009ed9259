package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func fairCases() []testCase {
	return []testCase{
		{"turns", fairTurns},
		{"order", fairOrder},
		{"late", fairLate},
		{"room", fairRoom},
		{"kinds", fairKinds},
		{"wraps", fairWraps},
		{"bounded", fairBounded},
		{"promote", fairPromote},
		{"once", fairOnce},
	}
}

// fair claims up to n jobs of the usual queue and kind, the tenants in turn, and
// gives whose jobs they are: a store may have any of them first.
func (c *rig) fair(n int, after string) (tenants []string, got driven.Claims) {
	c.Helper()
	r := c.request(n)
	r.Fair, r.After = true, after
	got = c.ask(r)
	c.ok("claim", newTaken().add(got.Jobs))
	for _, j := range got.Jobs {
		tenants = append(tenants, j.Job.Tenant)
	}
	slices.Sort(tenants)
	if len(tenants) == 0 {
		equal(c, "the tenant that a claim of nothing names", got.Tenant, after)
	}
	return tenants, got
}

// turns: one tenant after another is served, in byte order; the jobs of none are
// one of them, here those that were due first.
func fairTurns(c *rig) {
	c.add(c.jobs(3, priority(-1))...)
	c.add(c.jobs(3, ofTenant("b"))...)
	c.add(c.jobs(3, ofTenant("a"))...)
	c.add(c.jobs(3, ofTenant("ä"))...)
	c.add(c.jobs(3, ofTenant("B"))...)
	after := ""
	for i := range 15 {
		want := []string{"B", "a", "b", "ä", ""}[i%5]
		got, claims := c.fair(1, after)
		equal(c, fmt.Sprintf("tenants served after %q", after), got, []string{want})
		equal(c, "the tenant that was served last", claims.Tenant, want)
		after = claims.Tenant
	}
	c.fair(1, after)
	equal(c, "jobs left", len(c.claim(10)), 0)
}

// order: the jobs of a tenant come in their order.
func fairOrder(c *rig) {
	want := map[string][]domain.JobID{}
	for _, tenant := range []string{"a", "b"} {
		later := c.one(ofTenant(tenant), at(c.now().Add(-time.Minute)))
		first := c.one(ofTenant(tenant), at(c.now().Add(-time.Hour)))
		urgent := c.one(ofTenant(tenant), priority(-3))
		want[tenant] = []domain.JobID{urgent, first, later}
	}
	for after := ""; len(want["a"])+len(want["b"]) > 0; {
		_, got := c.fair(2, after)
		equal(c, "jobs of a claim", len(got.Jobs), 2)
		for _, j := range got.Jobs {
			mine := want[j.Job.Tenant]
			equal(c, "the next job of the tenant", []domain.JobID{j.Job.ID}, mine[:min(len(mine), 1)])
			want[j.Job.Tenant] = mine[1:]
		}
		after = got.Tenant
	}
}

// late: a job of a tenant that comes late starts within two claims, however many
// jobs another tenant has had there long before.
func fairLate(c *rig) {
	for _, small := range []string{"a", "z"} {
		for _, n := range []int{1, 10} {
			name := fmt.Sprint(small, n)
			c.add(c.jobs(size(500, 2000), ofTenant("big"), priority(-1))...)
			tenants, got := c.fair(n, "")
			late := c.one(ofTenant(name))
			for range 2 {
				if !slices.Contains(tenants, name) {
					tenants, got = c.fair(n, got.Tenant)
				}
			}
			if c.get(late).State != domain.Running {
				c.Fatalf("claims of %d did not start the job of %q in two", n, name)
			}
		}
	}
}

// room: what a tenant has no use for goes to others, so that a claim is as large
// as it may be.
func fairRoom(c *rig) {
	c.add(c.jobs(1, ofTenant("a"))...)
	c.add(c.jobs(30, ofTenant("b"))...)
	c.add(c.jobs(2, ofTenant("c"))...)
	c.one(priority(-1))
	tenants, got := c.fair(20, "")
	equal(c, "jobs of a claim of 20", len(tenants), 20)
	equal(c, "tenants served", slices.Compact(tenants), []string{"", "a", "b", "c"})
	tenants, got = c.fair(20, got.Tenant)
	equal(c, "jobs of a claim of what is left", len(tenants), 14)
	c.fair(20, got.Tenant)
	c.add(c.jobs(4)...)
	tenants, _ = c.fair(10, "b")
	equal(c, "jobs of none alone", len(tenants), 4)
}

// kinds: only the asked queue and kinds, also where others lie before them.
func fairKinds(c *rig) {
	c.add(c.jobs(300, ofTenant("a"), ofKind(other), priority(-1))...)
	c.add(c.jobs(3, ofTenant("b"), ofKind(other))...)
	c.add(c.jobs(3, ofTenant("c"), inQueue("other"))...)
	c.add(c.job(ofTenant("a")), c.job(ofTenant("d")), c.job(ofTenant("d"), ofKind(other)), c.job())
	var all []string
	for after := ""; ; {
		tenants, got := c.fair(2, after)
		if len(tenants) == 0 {
			break
		}
		for _, j := range got.Jobs {
			equal(c, "queue and kind", [2]string{j.Job.Queue, j.Job.Kind}, [2]string{queue, kind})
		}
		all, after = append(all, tenants...), got.Tenant
	}
	slices.Sort(all)
	equal(c, "tenants of the claimed jobs", all, []string{"", "a", "d"})
	r := c.request(10)
	r.Fair, r.Kinds = true, nil
	equal(c, "jobs claimed for no kind", len(c.ask(r).Jobs), 0)
	r.Kinds = []string{kind, other, other}
	equal(c, "jobs claimed for two kinds", len(c.ask(r).Jobs), 10)
}

// wraps: after the greatest tenant comes the least, whether the one that was
// served last still has jobs or not.
func fairWraps(c *rig) {
	c.add(c.jobs(4, ofTenant("b"))...)
	c.add(c.jobs(4, ofTenant("d"))...)
	c.one(priority(-1))
	for _, k := range []struct {
		after string
		n     int
		want  []string
	}{
		{"c", 1, []string{"d"}},
		{"d", 3, []string{"", "b", "d"}},
		{"a", 1, []string{"b"}},
	} {
		tenants, _ := c.fair(k.n, k.after)
		equal(c, fmt.Sprintf("tenants served after %q", k.after), tenants, k.want)
	}
}

// bounded: of any number of tenants each has its turn.
func fairBounded(c *rig) {
	const many = 100
	for i := range many {
		c.add(c.jobs(3, ofTenant(fmt.Sprintf("t%03d", i)))...)
	}
	served, after := map[string]int{}, ""
	for range 3 {
		tenants, got := c.fair(many, after)
		equal(c, "jobs of a claim", len(tenants), many)
		after = got.Tenant
	}
	equal(c, "jobs left", len(c.claim(many)), 0)
	for i := range many {
		c.add(c.jobs(2, ofTenant(fmt.Sprintf("t%03d", i)))...)
	}
	after = ""
	for range 10 {
		tenants, got := c.fair(10, after)
		for _, tenant := range tenants {
			served[tenant]++
		}
		after = got.Tenant
	}
	equal(c, "tenants served by ten claims of ten", len(served), many)
}

// promote: scheduled jobs that time has made due have their turn too.
func fairPromote(c *rig) {
	c.add(c.jobs(2, ofTenant("b"), after(c.short()))...)
	c.add(c.job(ofTenant("a"), after(c.short())), c.job(ofTenant("a"), after(time.Hour)))
	c.pass(c.short() + time.Millisecond)
	tenants, got := c.fair(2, "")
	equal(c, "tenants served", tenants, []string{"a", "b"})
	tenants, got = c.fair(2, got.Tenant)
	equal(c, "tenants served", tenants, []string{"b"})
	if got.Next <= 0 || got.Next > driven.NoNext {
		c.Fatalf("a claim that has room left says that the next job is due in %v", got.Next)
	}
}

// once: any number of such claimers at once share the jobs without one twice.
func fairOnce(c *rig) {
	const claimers = 16
	stores := c.handles(claimers)
	want := c.add(c.jobs(60, ofTenant("big"))...)
	want = append(want, c.add(c.jobs(20)...)...)
	for i := range 20 {
		want = append(want, c.one(ofTenant(fmt.Sprint("t", i))))
	}
	got := newTaken()
	c.race(claimers, func(i int) error {
		r := c.request(1 + i%5)
		r.Fair = i%4 > 0 // beside claimers that are not, which leave some to those who are
		for idle, made := 0, 0; idle < 2 && (r.Fair || made < 3); made++ {
			r.Token = c.token()
			claims, err := stores[i].Claim(c.Context(), r)
			if err == nil {
				err = got.add(claims.Jobs)
			}
			if err != nil {
				return err
			}
			if r.After = claims.Tenant; len(claims.Jobs) == 0 {
				idle++
			}
		}
		return nil
	})
	equal(c, "claimed jobs", got.all(), sorted(want))
}
