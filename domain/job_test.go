package domain_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func goodJob(t *testing.T) domain.NewJob {
	return domain.NewJob{ID: jobID(t, someID), Kind: "mail/welcome", Queue: "default", Args: []byte(`{}`)}
}

func TestNewJobIsAccepted(t *testing.T) {
	for name, change := range map[string]func(*domain.NewJob){
		"plain":     func(*domain.NewJob) {},
		"lowest":    func(n *domain.NewJob) { n.Priority = domain.MinPriority },
		"highest":   func(n *domain.NewJob) { n.Priority = domain.MaxPriority },
		"names":     func(n *domain.NewJob) { n.Kind, n.Tenant = strings.Repeat("k", 120), strings.Repeat("t", 190) },
		"unique":    func(n *domain.NewJob) { n.Unique = &domain.Unique{Key: strings.Repeat("u", 190)} },
		"tags":      func(n *domain.NewJob) { n.Tags = make32Tags() },
		"attempts":  func(n *domain.NewJob) { n.MaxAttempts = domain.MaxMaxAttempts },
		"timeout":   func(n *domain.NewJob) { n.Timeout = domain.MaxDelay },
		"delay":     func(n *domain.NewJob) { n.Due.After = domain.MaxDelay },
		"moment":    func(n *domain.NewJob) { n.Due.At = time.Unix(0, 0) },
		"meta":      func(n *domain.NewJob) { n.Meta = []byte(" \n{\"a\":1} ") },
		"retention": func(n *domain.NewJob) { n.Keep = domain.Retention{Done: -7, Dead: time.Millisecond} },
		"limit key": func(n *domain.NewJob) { n.LimitKey = strings.Repeat("l", 190) },
		"mutex":     func(n *domain.NewJob) { n.Turn, n.Keys = domain.TurnMutex, []string{"a:'\"%_ \n", "a", "a"} },
		"100 keys":  func(n *domain.NewJob) { n.Turn, n.Keys = domain.TurnChain, keys(domain.MaxKeys) },
		"blocking": func(n *domain.NewJob) {
			n.Turn, n.Keys, n.OnDead = domain.TurnChain, []string{strings.Repeat("é", 95)}, domain.Block
		},
		"big args": func(n *domain.NewJob) { n.Args = []byte(`"` + strings.Repeat("x", domain.MaxArgs-2) + `"`) },
	} {
		job := goodJob(t)
		change(&job)
		if err := job.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func keys(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.Repeat("k", domain.MaxKey-2) + string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	return all
}

func make32Tags() []string {
	tags := make([]string, domain.MaxTags)
	for i := range tags {
		tags[i] = strings.Repeat("t", domain.MaxTag)
	}
	return tags
}

func TestNewJobIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name, hint string
		change     func(*domain.NewJob)
	}{
		{"no id", "UUIDv7", func(n *domain.NewJob) { n.ID = domain.JobID{} }},
		{"an id of version 4", "UUIDv7", func(n *domain.NewJob) { n.ID[6] = 0x4f }},
		{"an id of another variant", "UUIDv7", func(n *domain.NewJob) { n.ID[8] = 0xc0 }},
		{"no kind", "empty", func(n *domain.NewJob) { n.Kind = "" }},
		{"a long kind", "121 bytes", func(n *domain.NewJob) { n.Kind = strings.Repeat("k", 121) }},
		{"no queue", "empty", func(n *domain.NewJob) { n.Queue = "" }},
		{"a long queue", "121 bytes", func(n *domain.NewJob) { n.Queue = strings.Repeat("q", 121) }},
		{"a long tenant", "191 bytes", func(n *domain.NewJob) { n.Tenant = strings.Repeat("t", 191) }},
		{"an empty unique key", "empty", func(n *domain.NewJob) { n.Unique = &domain.Unique{} }},
		{"a long unique key", "191 bytes", func(n *domain.NewJob) { n.Unique = &domain.Unique{Key: strings.Repeat("u", 191)} }},
		{"an empty tag", "empty", func(n *domain.NewJob) { n.Tags = []string{"a", ""} }},
		{"a long tag", "191 bytes", func(n *domain.NewJob) { n.Tags = []string{strings.Repeat("t", 191)} }},
		{"33 tags", "there are 33", func(n *domain.NewJob) { n.Tags = append(make32Tags(), "x") }},
		{"a long limit key", "191 bytes", func(n *domain.NewJob) { n.LimitKey = strings.Repeat("l", 191) }},
		{"a limit key with a NUL", "NUL", func(n *domain.NewJob) { n.LimitKey = "a\x00" }},
		{"a limit key that is no UTF-8", "UTF-8", func(n *domain.NewJob) { n.LimitKey = "\xff" }},
		{"a turn without keys", "needs its keys", func(n *domain.NewJob) { n.Turn = domain.TurnMutex }},
		{"keys without a turn", "needs its keys", func(n *domain.NewJob) { n.Keys = []string{"a"} }},
		{"a turn of no sort", "needs its keys", func(n *domain.NewJob) { n.Turn, n.Keys = 3, []string{"a"} }},
		{"an empty key", "empty", func(n *domain.NewJob) { n.Turn, n.Keys = domain.TurnMutex, []string{"a", ""} }},
		{"a long key", "191 bytes", func(n *domain.NewJob) { n.Turn, n.Keys = domain.TurnChain, []string{strings.Repeat("k", 191)} }},
		{"a key with a NUL", "NUL", func(n *domain.NewJob) { n.Turn, n.Keys = domain.TurnChain, []string{"\x00"} }},
		{"101 keys", "there are 101", func(n *domain.NewJob) { n.Turn, n.Keys = domain.TurnChain, keys(101) }},
		{"a plain job that blocks", "only a chain", func(n *domain.NewJob) { n.OnDead = domain.Block }},
		{"a mutex that blocks", "only a chain", func(n *domain.NewJob) { n.Turn, n.Keys, n.OnDead = domain.TurnMutex, []string{"a"}, domain.Block }},
		{"an OnDead of no sort", "OnDead is 2", func(n *domain.NewJob) { n.Turn, n.Keys, n.OnDead = domain.TurnChain, []string{"a"}, 2 }},
		{"priority too low", "the priority is -32769", func(n *domain.NewJob) { n.Priority = domain.MinPriority - 1 }},
		{"priority too high", "the priority is 32768", func(n *domain.NewJob) { n.Priority = domain.MaxPriority + 1 }},
		{"attempts below 0", "the attempts are -1", func(n *domain.NewJob) { n.MaxAttempts = -1 }},
		{"too many attempts", "the attempts are 10001", func(n *domain.NewJob) { n.MaxAttempts = 10_001 }},
		{"timeout below 0", "the timeout is -1ns", func(n *domain.NewJob) { n.Timeout = -1 }},
		{"timeout below 1ms", "the timeout is 999", func(n *domain.NewJob) { n.Timeout = time.Millisecond - 1 }},
		{"timeout too long", "the timeout is", func(n *domain.NewJob) { n.Timeout = domain.MaxDelay + 1 }},
		{"delay and moment", "not both", func(n *domain.NewJob) { n.Due = domain.Due{After: 1, At: time.Unix(9, 0)} }},
		{"delay below 0", "the delay is -1ns", func(n *domain.NewJob) { n.Due.After = -1 }},
		{"delay too long", "the delay is", func(n *domain.NewJob) { n.Due.After = domain.MaxDelay + 1 }},
		{"moment before 1970", "between 1970 and 9999", func(n *domain.NewJob) { n.Due.At = time.Unix(-1, 0) }},
		{"moment after 9999", "between 1970 and 9999", func(n *domain.NewJob) { n.Due.At = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"retention too long", "negative span for ever", func(n *domain.NewJob) { n.Keep.Dead = domain.MaxDelay + 1 }},
		{"retention below 1ms", "negative span for ever", func(n *domain.NewJob) { n.Keep.Cancelled = 1 }},
		{"no args", "not valid JSON", func(n *domain.NewJob) { n.Args = nil }},
		{"args of 512 KiB + 1", "limit is 524288", func(n *domain.NewJob) { n.Args = []byte(`"` + strings.Repeat("x", domain.MaxArgs-1) + `"`) }},
		{"meta that is no object", "must be a JSON object", func(n *domain.NewJob) { n.Meta = []byte(` ["a"]`) }},
		{"meta that is no JSON", "not valid JSON", func(n *domain.NewJob) { n.Meta = []byte(`{`) }},
		{"meta over its limit", "limit is 16384", func(n *domain.NewJob) { n.Meta = []byte(`{"a":"` + strings.Repeat("x", domain.MaxMeta) + `"}`) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			job := goodJob(t)
			tc.change(&job)
			wantFault(t, job.Validate(), domain.Invalid, "", tc.hint)
		})
	}
}

func TestTurnKeys(t *testing.T) {
	job := domain.NewJob{Tenant: "acme", Keys: []string{"b", "a", "b", "B"}}
	if got := job.TurnKeys(); got != nil {
		t.Errorf("a job without turns has %q", got)
	}
	for turn, want := range map[domain.Turn][]string{
		domain.TurnMutex: {"m4:acmeB", "m4:acmea", "m4:acmeb"}, domain.TurnChain: {"c4:acmeB", "c4:acmea", "c4:acmeb"},
	} {
		if job.Turn = turn; !slices.Equal(job.TurnKeys(), want) {
			t.Errorf("got %q, want %q", job.TurnKeys(), want)
		}
	}
	if !slices.Equal(job.Keys, []string{"b", "a", "b", "B"}) {
		t.Errorf("the job's own keys became %q", job.Keys)
	}
}

func TestRetentionFor(t *testing.T) {
	def := domain.Retention{Done: 1, Dead: 2, Cancelled: 3}
	own := domain.Retention{Done: 10, Dead: 20, Cancelled: domain.KeepForever}
	for _, tc := range []struct {
		r     domain.Retention
		state domain.State
		want  time.Duration
	}{
		{domain.Retention{}, domain.Done, 1},
		{domain.Retention{}, domain.Dead, 2},
		{domain.Retention{}, domain.Cancelled, 3},
		{own, domain.Done, 10},
		{own, domain.Dead, 20},
		{own, domain.Cancelled, domain.KeepForever},
		{domain.Retention{Done: 10}, domain.Dead, 2},
	} {
		if got := tc.r.For(tc.state, def); got != tc.want {
			t.Errorf("%+v in %v: %v, want %v", tc.r, tc.state, got, tc.want)
		}
	}
	std := domain.DefaultRetention()
	if std.Done != 24*time.Hour || std.Cancelled != 24*time.Hour || std.Dead >= 0 || std.Validate() != nil {
		t.Errorf("the default is %+v", std)
	}
}

func TestInsertedWords(t *testing.T) {
	for answer, want := range map[domain.Inserted]string{domain.InsertedNew: "inserted", domain.Existing: "existing"} {
		if text, err := answer.MarshalText(); string(text) != want || err != nil {
			t.Errorf("got %q, %v, want %q", text, err, want)
		}
	}
}
