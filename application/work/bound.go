package work

import (
	"fmt"
	"reflect"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// Limit holds a kind to N jobs at once, over all runners.
type Limit struct {
	N     int
	Group string // shared by the kinds that name it, which must agree on N; "": the kind's own
	// Key gives the bucket that a job counts in, N for each; nil or "": one for the
	// whole group. The job's own LimitKey stands before it. It must be safe for
	// concurrent use; KeyOf makes one of a function of the typed args.
	Key func(args []byte) string
}

// Rate holds a kind to N starts in any Window, over all runners.
type Rate struct {
	N      int
	Window time.Duration
	Group  string                   // as a Limit's; the kinds must agree on the window too
	Key    func(args []byte) string // as a Limit's
}

// Limited declares the kind's one limit. It needs a timeout: a handler that never
// ends would keep its place for ever.
func Limited(l Limit) Option {
	return func(e *Entry) error {
		if e.Limit.N != 0 {
			return e.second("limit", e.Limit.Group)
		}
		e.Limit = l
		if e.Limit.Group == "" {
			e.Limit.Group = e.Kind
		}
		return e.limit().Validate()
	}
}

// Rated declares the kind's one rate. It needs a timeout, as Limited does.
func Rated(r Rate) Option {
	return func(e *Entry) error {
		if e.Rate.N != 0 {
			return e.second("rate", e.Rate.Group)
		}
		e.Rate = r
		if e.Rate.Group == "" {
			e.Rate.Group = e.Kind
		}
		return e.rate().Validate()
	}
}

func (e *Entry) second(sort, group string) error {
	return refuse(domain.Invalid, e.Kind, fmt.Sprintf("it has a %s already, that of group %q; a kind has one limit and one rate", sort, group))
}

// Lane makes the kind share the workers of that lane of the runner, apart from
// those of the queues. A runner that has no such lane does not start.
func Lane(name string) Option {
	return func(e *Entry) error {
		e.Lane = name
		return domain.ValidateName("lane", name, domain.MaxQueue)
	}
}

// KeyOf makes a Key of a function of the typed args. Args that cannot be read
// into T count in the group's own bucket; their attempt fails anyway.
func KeyOf[T Args](fn func(T) string) func(args []byte) string {
	decode := decoderFor(reflect.TypeFor[T]())
	return func(text []byte) string {
		var args T
		if err := decode(text, &args); err != nil {
			return ""
		}
		return fn(args)
	}
}

func (e *Entry) limit() domain.Declaration {
	return domain.Declaration{Kind: e.Kind, Sort: domain.BoundLimit, Group: e.Limit.Group, N: e.Limit.N}
}

func (e *Entry) rate() domain.Declaration {
	return domain.Declaration{Kind: e.Kind, Sort: domain.BoundRate, Group: e.Rate.Group, N: e.Rate.N, Window: e.Rate.Window}
}

// Bounds are what the kind declares.
func (e *Entry) Bounds() []domain.Declaration {
	var all []domain.Declaration
	if e.Limit.N > 0 {
		all = append(all, e.limit())
	}
	if e.Rate.N > 0 {
		all = append(all, e.rate())
	}
	return all
}

// Bounds are what the kinds declare, in byte order. Kinds that share a group and
// do not agree are refused by name.
func (r *Registry) Bounds() ([]domain.Declaration, error) {
	type group struct {
		sort domain.BoundSort
		name string
	}
	var all []domain.Declaration
	first := make(map[group]domain.Declaration)
	for _, kind := range r.Kinds() {
		e, ok := r.Find(kind)
		if !ok {
			continue
		}
		for _, d := range e.Bounds() {
			of := group{d.Sort, d.Group}
			if other, shared := first[of]; !shared {
				first[of] = d
			} else if other.N != d.N || other.Window != d.Window {
				return nil, disagree(other, d)
			}
			all = append(all, d)
		}
	}
	return all, nil
}

func disagree(a, b domain.Declaration) error {
	say := func(d domain.Declaration) string {
		if d.Sort == domain.BoundRate {
			return fmt.Sprintf("kind %q says %d in %v", d.Kind, d.N, d.Window)
		}
		return fmt.Sprintf("kind %q says %d", d.Kind, d.N)
	}
	return refuse(domain.Invalid, b.Kind, fmt.Sprintf(
		"the %v of group %q must be the same for all its kinds: %s, %s", b.Sort, b.Group, say(a), say(b)))
}
