package enqueue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/domain"
)

type chained struct{}

func (chained) Kind() string { return "chained" }
func (chained) EnqueueOptions() []enqueue.Option {
	return []enqueue.Option{enqueue.OnDead(domain.Block), enqueue.Chain("type"), enqueue.LimitKey("type")}
}

func TestTurns(t *testing.T) {
	many := make([]string, domain.MaxKeys+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, c := range map[string]struct {
		args interface{ Kind() string }
		opts []enqueue.Option
		want string // turn, keys, what its dead do, limit key; "": refused
		says string
	}{
		"none":                 {args: hello{}, want: "0 [] 0 "},
		"a mutex":              {args: hello{}, opts: []enqueue.Option{enqueue.Mutex("b", "a")}, want: "1 [b a] 0 "},
		"two mutexes":          {args: hello{}, opts: []enqueue.Option{enqueue.Mutex("a"), enqueue.Mutex("b")}, want: "1 [a b] 0 "},
		"a chain":              {args: hello{}, opts: []enqueue.Option{enqueue.Chain("a"), enqueue.OnDead(domain.Block)}, want: "2 [a] 1 "},
		"the order is nothing": {args: hello{}, opts: []enqueue.Option{enqueue.OnDead(domain.Block), enqueue.Chain("a")}, want: "2 [a] 1 "},
		"a limit key":          {args: hello{}, opts: []enqueue.Option{enqueue.LimitKey("k")}, want: "0 [] 0 k"},
		"of the type":          {args: chained{}, want: "2 [type] 1 type"},
		"the job's keys":       {args: chained{}, opts: []enqueue.Option{enqueue.Chain("own")}, want: "2 [own] 1 type"},
		"the job's dead":       {args: chained{}, opts: []enqueue.Option{enqueue.OnDead(domain.Continue)}, want: "2 [type] 0 type"},
		"the job's mutex":      {args: chained{}, opts: []enqueue.Option{enqueue.Mutex("own"), enqueue.LimitKey("own")}, want: "1 [own] 0 own"},
		"mixed":                {args: hello{}, opts: []enqueue.Option{enqueue.Mutex("a"), enqueue.Chain("b")}, says: "one sort"},
		"a dead mutex":         {args: hello{}, opts: []enqueue.Option{enqueue.Mutex("a"), enqueue.OnDead(domain.Block)}, says: "Chain"},
		"dead without keys":    {args: hello{}, opts: []enqueue.Option{enqueue.OnDead(domain.Continue)}, says: "Chain"},
		"no key":               {args: hello{}, opts: []enqueue.Option{enqueue.Mutex()}, says: "key"},
		"an empty key":         {args: hello{}, opts: []enqueue.Option{enqueue.Chain("")}, says: "chain key"},
		"a long key":           {args: hello{}, opts: []enqueue.Option{enqueue.Mutex(strings.Repeat("x", domain.MaxKey+1))}, says: "mutex key"},
		"too many":             {args: hello{}, opts: []enqueue.Option{enqueue.Mutex(many...)}, says: "limit is 100"},
		"no limit key":         {args: hello{}, opts: []enqueue.Option{enqueue.LimitKey("")}, says: "LimitKey"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			_, _, err := client(f, nil).Enqueue(t.Context(), c.args, c.opts...)
			if c.want == "" {
				wantCode(t, err, domain.Invalid)
				if !strings.Contains(err.Error(), c.says) || len(f.rows) > 0 {
					t.Errorf("%q does not say %q, or wrote", err, c.says)
				}
				return
			}
			must(t, err)
			job := f.rows[0]
			if got := fmt.Sprintf("%d %v %d %s", job.Turn, job.Keys, job.OnDead, job.LimitKey); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
