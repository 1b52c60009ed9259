package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func identityCases() []testCase {
	return []testCase{
		{"queue", identityQueue},
		{"kind", identityKind},
		{"tenant", identityTenant},
		{"key", identityKey},
		{"tag", identityTag},
		{"stats", identityStats},
		{"runner", identityRunner},
		{"border", identityBorder},
	}
}

// names are as many different names as there are lines: databases fold case,
// accents, widths, normal forms or trailing blanks, and Rowlock compares bytes.
// The last two have the full length and differ in the last byte.
func names(limit int) []string {
	list := []string{
		"a", "A", "a ", "a  ", " a", "a\t", "a\n", "a.", "á",
		"\u00e4", "a\u0308", "\u00c4", // ä composed and decomposed, Ä
		"ß", "ss", "SS", "ẞ",
		"i", "I", "ı", "İ", "K", "k", "\u212a", // the Kelvin sign
		"fi", "ﬁ", "ａ", "1", "01", "１", "²", "2",
		"a\u200bb", "ab", "a\u00adb", "日本", "ニ", "ﾆ", "二", "😀", "😁",
		"%", "_", "*", "?", "a%", "null", "NULL", "true", "0",
		`'`, `"`, `\`, `\\`, "`", "a'b", `a"b`, "a;--", "$1", ":x", "@p1", "?0", "{}", "[]", "a/b", "a:b", "a,b", "..", "#",
	}
	long := strings.Repeat("é", limit/2)
	return append(list, long, long[:len(long)-1]+"\xaa")
}

// distinct gives the names in byte order.
func distinct(limit int) []string {
	list := names(limit)
	slices.Sort(list)
	return list
}

// queue: each name is a line of its own for the claim, the list and the filter.
func identityQueue(c *rig) {
	all := distinct(domain.MaxQueue)
	ids := map[string]domain.JobID{}
	for _, q := range all {
		ids[q] = c.one(inQueue(q))
	}
	c.queues("", len(all)+1, all...)
	for i, q := range all {
		c.queues(q, 1, all[i+1:min(i+2, len(all))]...)
		equal(c, fmt.Sprintf("jobs of queue %q", q), c.list(domain.Filter{Queue: q}), []domain.JobID{ids[q]})
		r := c.request(5)
		r.Queue = q
		equal(c, fmt.Sprintf("jobs claimed from queue %q", q), idsOf(c.ask(r).Jobs), []domain.JobID{ids[q]})
	}
}

// kind: a claim gets the kinds it asked for and no name that looks alike.
func identityKind(c *rig) {
	all := distinct(domain.MaxKind)
	ids := map[string]domain.JobID{}
	for _, k := range all {
		ids[k] = c.one(ofKind(k))
	}
	for i, k := range all {
		equal(c, fmt.Sprintf("jobs of kind %q", k), c.list(domain.Filter{Kind: k}), []domain.JobID{ids[k]})
		r := c.request(5)
		if r.Kinds = []string{k}; i%2 == 1 {
			r.Kinds = []string{k, all[i-1]} // taken already
		}
		got := c.ask(r).Jobs
		equal(c, fmt.Sprintf("jobs claimed for kind %q", k), idsOf(got), []domain.JobID{ids[k]})
		equal(c, "kind of the claimed job", got[0].Job.Kind, k)
	}
}

// tenant: each name sees its own jobs only.
func identityTenant(c *rig) {
	all := distinct(domain.MaxTenant)
	ids := map[string]domain.JobID{}
	for _, t := range all {
		ids[t] = c.one(ofTenant(t), unique("k")) // and its keys are its own
	}
	for _, t := range all {
		equal(c, fmt.Sprintf("jobs of tenant %q", t), c.list(domain.Filter{Tenant: t}), []domain.JobID{ids[t]})
		equal(c, fmt.Sprintf("jobs of tenant %q in the stats", t), c.stats(t).Totals().Due, int64(1))
		equal(c, "tenant of the row", c.get(ids[t]).Tenant, t)
	}
}

// key: each key is held by its own job, in the index and in the answer.
func identityKey(c *rig) {
	all := distinct(domain.MaxKey)
	ids := map[string]domain.JobID{}
	for _, k := range all {
		ids[k] = c.one(unique(k))
	}
	for _, k := range all {
		c.held(k, ids[k])
		equal(c, "key of the row", c.get(ids[k]).UniqueKey, k)
	}
	var jobs []domain.NewJob
	for _, k := range all {
		jobs = append(jobs, c.job(ofTenant("bulk"), unique(k)))
	}
	for i, got := range c.insert(jobs...) {
		equal(c, fmt.Sprintf("answer for key %q in one call", all[i]), got, driven.Inserted{ID: jobs[i].ID})
	}
}

// tag: a tag is found whole and by its bytes, also beside others of its job.
func identityTag(c *rig) {
	all := distinct(domain.MaxTag)
	ids := map[string]domain.JobID{}
	for _, tag := range all {
		ids[tag] = c.one(withTags("common", tag, "also common"))
	}
	for _, tag := range all {
		equal(c, fmt.Sprintf("jobs with tag %q", tag), c.list(domain.Filter{Tag: tag}), []domain.JobID{ids[tag]})
		equal(c, "tags of the row", c.get(ids[tag]).Tags, []string{"common", tag, "also common"})
	}
	equal(c, "jobs with a tag of all", c.count(domain.Filter{Tag: "common"}), len(all))
	equal(c, "jobs with a part of a tag", c.count(domain.Filter{Tag: "commo"}), 0)
	equal(c, "jobs with a tag over the border of two", c.count(domain.Filter{Tag: `a","also common`}), 0)
}

// stats: the lines group by bytes and stand in byte order.
func identityStats(c *rig) {
	all := distinct(domain.MaxQueue)
	var jobs []domain.NewJob
	for _, name := range all {
		jobs = append(jobs, c.job(inQueue(name)))
		jobs = append(jobs, c.jobs(2, inQueue("kinds"), ofKind(name))...)
	}
	c.add(jobs...)
	var queues, kinds []string
	for _, l := range c.stats("").Lines {
		if l.Queue == "kinds" {
			kinds = append(kinds, l.Kind)
			equal(c, fmt.Sprintf("due jobs of kind %q", l.Kind), l.Tally, domain.Tally{Due: 2})
			continue
		}
		queues = append(queues, l.Queue)
		equal(c, fmt.Sprintf("due jobs of queue %q", l.Queue), l.Tally, domain.Tally{Due: 1})
	}
	equal(c, "queues of the stats", queues, all)
	equal(c, "kinds of the stats", kinds, all)
}

// runner: names of runners are as exact: in the list and for whom a sweep spares.
func identityRunner(c *rig) {
	all := distinct(domain.MaxRunner)
	for _, name := range all {
		c.beat(domain.RunnerInfo{ID: name, Kinds: []string{name}}, long)
	}
	equal(c, "runners", c.runners(len(all)+1), all)
	for _, name := range all {
		r := c.request(1)
		r.Runner, r.Lease = name, c.short()
		c.claimSetOf(r)
	}
	c.pass(c.short() + time.Millisecond)
	r := sweep()
	r.Except = "a "
	got := c.recover(r).Jobs
	equal(c, "recovered jobs", len(got), len(all)-1)
	for _, j := range got {
		if j.Runner == r.Except {
			c.Fatal("the sweep took its own runner's claim")
		}
	}
	c.ok("leave", c.store.Leave(c.Context(), "a "))
	equal(c, "runners once one left", len(c.runners(len(all)+1)), len(all)-1)
}

// border: the border between tenant and key is exact, whatever both hold.
func identityBorder(c *rig) {
	pairs := [][2]string{
		{"ab", "c"},
		{"a", "bc"},
		{"", "abc"},
		{"1", ":x"},
		{"1:", "x"},
		{"", "1:1:x"},
		{"a:", "b"},
		{"a", ":b"},
		{"", "u1:1:x"},
		{strings.Repeat("t", domain.MaxTenant), strings.Repeat("k", domain.MaxKey)},
		{strings.Repeat("t", domain.MaxTenant-1), "t" + strings.Repeat("k", domain.MaxKey-1)},
	}
	ids := make([]domain.JobID, len(pairs))
	for i, p := range pairs {
		ids[i] = c.one(ofTenant(p[0]), unique(p[1]))
	}
	for i, p := range pairs {
		c.held(p[1], ids[i], ofTenant(p[0]))
	}
}
