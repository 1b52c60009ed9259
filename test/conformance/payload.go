package conformance

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rowlock/rowlock/domain"
)

func payloadCases() []testCase {
	return []testCase{
		{"exact", payloadExact},
		{"numbers", payloadNumbers},
		{"limit", payloadLimit},
		{"texts", payloadTexts},
		{"error", payloadError},
		{"history", payloadHistory},
		{"result", payloadResult},
		{"meta", payloadMeta},
		{"tags", payloadTags},
		{"bulk", payloadBulk},
	}
}

// oddTexts break a statement into which they are written rather than bound, or a
// column that is too narrow for what Unicode holds.
var oddTexts = []string{
	`a' \\' ; ? ?0 $1 :x @p1 --`, `'); DROP TABLE rowlock_jobs; --`, `\`, `\\`, `\'`, `''`, `"`, "`", `%`, `_`, `{}`, `null`,
	`?`, `??`, `?0`, `?0?`, `?TableName`, `$1`, `$$`, `:x`, `::text`, `@p1`, `@@version`, `--`, `/* */`, `;`, `#`, `&#0;`,
	"line\nline\r\nline\ttab", "\x01\x1f\x7f", "grüße", "日本語", "😀👩\u200d👩\u200d👧", "\u2028\u2029", "\ufeff", "\ufffd", "e\u0301", "\U0010ffff",
	" leading and trailing ", "</script><script>", `\u0000`, `\x00`, `0x41`, `E'\\x41'`, `N'x'`, "\u202etxt",
}

// quoted is a text as a JSON string with no more escapes than JSON asks for.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// carried checks that args go through insert, claim, failure and retry unchanged.
func (c *rig) carried(args string) {
	c.Helper()
	id := c.one(withArgs(args))
	equal(c, "args of the row", c.get(id).Args, []byte(args))
	j := c.claimOne()
	equal(c, "args of the claim", j.Job.Args, []byte(args))
	c.settled(died(j))
	c.wantNil("retry", c.retry(domain.Due{}, id)...)
	j = c.claimOne()
	equal(c, "args of the claim after a retry", j.Job.Args, []byte(args))
	c.settled(done(j))
	equal(c, "args of the done row", c.get(id).Args, []byte(args))
}

// exact: args are text, kept to the byte: blanks, order, repeated members, escapes.
func payloadExact(c *rig) {
	for _, args := range []string{
		`null`, `true`, `0`, `""`, `[]`, `{}`, ` {"b" : 1,  "a":[ 1 ,2 ] , "b":2}` + "\n", `"\u00e9\ud83d\ude00\/"`, `"é😀/"`,
		`{"":{"":[[],{}]}}`, `[` + strings.Repeat(`[`, 98) + strings.Repeat(`]`, 98) + `]`,
	} {
		c.carried(args)
	}
	for _, text := range oddTexts {
		c.carried(`{"text":` + quoted(text) + `,` + quoted(text) + `:1}`)
	}
}

// numbers: no number passes through a float.
func payloadNumbers(c *rig) {
	c.carried(`[9007199254740993,3889108265204450030,9223372036854775807,-9223372036854775808,18446744073709551616]`)
	c.carried(`[1e400,-1E-400,0.1,1.0,1.10,-0,1e0,123456789012345678901234567890.123456789]`)
}

// limit: args of the full size are kept whole, with characters of every width.
func payloadLimit(c *rig) {
	for _, unit := range []string{"x", "é", "語", "😀", `\n`} {
		args := `"` + strings.Repeat(unit, (domain.MaxArgs-2)/len(unit)) + `"`
		args = strings.Repeat(" ", domain.MaxArgs-len(args)) + args
		equal(c, "bytes of the args", len(args), domain.MaxArgs)
		c.carried(args)
		n := c.job()
		n.Args = []byte(args + " ")
		c.wantCode("check of args a byte over the limit", n.Validate(), domain.Invalid)
	}
}

// texts: every text that a job carries besides its args takes odd content.
func payloadTexts(c *rig) {
	for _, text := range oddTexts {
		n := c.job(ofKind(text), inQueue(text), ofTenant(text), unique(text), withTags(text, text+"2"), withMeta(`{"m":`+quoted(text)+`}`))
		c.add(n)
		r := c.request(1)
		r.Queue, r.Kinds, r.Runner = text, []string{text}, text
		j := c.ask(r).Jobs
		equal(c, "claimed jobs", len(j), 1)
		checkAsked(c, n, withKeyOf(n, j[0].Job))
		equal(c, "runner of the row", c.get(n.ID).Runner, text)
		o := died(j[0])
		o.Error = text
		o.History = j[0].Job.History.Add(domain.Note{Attempt: 1, Message: text, Stack: text, Runner: text})
		c.settled(o)
		row := c.get(n.ID)
		checkAsked(c, n, row)
		equal(c, "last error", row.Error, text)
		equal(c, "history", row.History, o.History)
	}
}

// error: what a handler says comes in bounded and clean, however long or broken
// it is, and recording it never fails.
func payloadError(c *rig) {
	for _, text := range []string{
		strings.Repeat("a very long text ", 20<<20/17), strings.Repeat("é", 10<<20), "a\x00b", "bad \xff\xfe bytes", "", strings.Repeat("\x00", 9000),
	} {
		j := c.running()
		v := domain.Judge(&j.Job, domain.Attempt{Err: errors.New(text), Stack: text, Runner: text, At: c.now()}, domain.Rule{})
		o := died(j)
		o.Error, o.History = v.Error, v.History
		c.settled(o)
		row := c.inState(j.Job.ID, domain.Dead)
		equal(c, "last error", row.Error, v.Error)
		equal(c, "history", row.History, v.History)
		if len(row.Error) > domain.MaxMessage || !utf8.ValidString(row.Error) || strings.ContainsRune(row.Error, 0) {
			c.Fatalf("the stored error has %d bytes or is not clean", len(row.Error))
		}
	}
}

// history: the longest history there can be is kept whole.
func payloadHistory(c *rig) {
	j := c.running()
	o := died(j)
	for i := range domain.MaxHistory + 2 {
		o.History = o.History.Add(domain.Note{
			Attempt: i, Message: strings.Repeat("\x01", domain.MaxMessage), Stack: strings.Repeat("😀", domain.MaxStack/4), Runner: strings.Repeat("r", 300),
		})
	}
	c.settled(o)
	row := c.get(j.Job.ID)
	equal(c, "history", row.History, o.History)
	notes, err := row.History.Notes()
	c.ok("read the history", err)
	equal(c, "number of notes", len(notes), domain.MaxHistory)
}

// result: JSON text of the full size, to the byte.
func payloadResult(c *rig) {
	results := []string{`null`, ` {"n" : 9007199254740993} `, `"` + strings.Repeat("é", (domain.MaxResult-2)/2) + `"`}
	for _, text := range oddTexts {
		results = append(results, quoted(text))
	}
	for _, result := range results {
		o := done(c.running())
		o.Result = []byte(result)
		c.settled(o)
		equal(c, "result", c.get(o.Ticket.ID).Result, []byte(result))
	}
}

// meta: a JSON object of the full size, to the byte.
func payloadMeta(c *rig) {
	for _, meta := range []string{`{}`, `{ "b":1, "a" :9007199254740993,"b":2 }`, `{"m":"` + strings.Repeat("x", domain.MaxMeta-8) + `"}`} {
		n := c.job(withMeta(meta))
		c.add(n)
		equal(c, "metadata of the row", string(c.get(n.ID).Meta), meta)
		equal(c, "metadata of the claim", string(c.claimOne().Job.Meta), meta)
	}
}

// tags: as many and as long as there may be, in the order they were given, repeats too.
func payloadTags(c *rig) {
	tags := []string{"b", "a", "b", " ", `["x"]`}
	for i := len(tags); i < domain.MaxTags; i++ {
		tags = append(tags, fmt.Sprintf("%02d", i)+strings.Repeat("é", (domain.MaxTag-2)/2))
	}
	n := c.job(withTags(tags...))
	c.add(n)
	equal(c, "tags of the row", c.get(n.ID).Tags, tags)
	equal(c, "tags of the claim", c.claimOne().Job.Tags, tags)
	for _, tag := range []string{"a", "b", " ", `["x"]`, tags[domain.MaxTags-1]} {
		equal(c, "jobs with the tag", c.list(domain.Filter{Tag: tag}), []domain.JobID{n.ID})
	}
}

// bulk: odd texts are as safe in a call of many rows, where stores write another way.
func payloadBulk(c *rig) {
	var jobs []domain.NewJob
	for i, text := range oddTexts {
		for range 5 {
			jobs = append(jobs, c.job(ofTenant(text), withTags(text), withArgs(fmt.Sprintf(`[%d,%s]`, i, quoted(text))), withMeta(`{"m":`+quoted(text)+`}`)))
		}
	}
	c.add(jobs...)
	got := c.claimAll(c.request(100))
	equal(c, "claimed jobs", idsOf(got), idsOfNew(jobs))
	for i := range got {
		checkAsked(c, jobs[i], got[i].Job)
	}
}
