package work

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Next is one run of a handler, and what a middleware calls to go on.
type Next func(ctx context.Context, t *driven.Task) error

// Middleware wraps every run. The first one used is the outermost.
type Middleware func(Next) Next

// Registry knows the handler of each kind. It is safe for concurrent use; once
// sealed it no longer changes.
type Registry struct {
	mu      sync.RWMutex
	entries map[string]*Entry
	around  []Middleware
	sealed  bool
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry { return &Registry{entries: make(map[string]*Entry)} }

// Entry is what is known of one kind. It never changes once Find gave it out.
type Entry struct {
	Kind    string
	Run     Next             // the handler inside the middleware
	Rule    domain.Rule      // as declared: a zero Base or MaxAttempts is the runner's default
	Timeout time.Duration    // 0: the runner's default
	Keep    domain.Retention // zero fields: the runner's default
	Limit   Limit            // N 0: none
	Rate    Rate             // N 0: none
	Lane    string           // "": the workers of its queue
	Failure string           // kind of the job that is added when one of it dies; "": none

	ForgetArgs bool

	bare    Next // without middleware
	builtin bool
}

// RuleOver is the kind's rule with the default where it declares nothing.
func (e *Entry) RuleOver(def domain.RetryPolicy) domain.Rule {
	rule := e.Rule
	attempts := rule.Policy.MaxAttempts
	if rule.Policy.Base == 0 {
		rule.Policy = def
	}
	if rule.Policy.MaxAttempts = attempts; attempts == 0 {
		rule.Policy.MaxAttempts = def.MaxAttempts
	}
	return rule
}

// AddBuiltin adds a handler that comes with Rowlock or a library. A host's
// handler of the same kind beats it, in whatever order they come.
func (r *Registry) AddBuiltin(h driven.Handler, opts ...Option) error {
	if h == nil {
		return refuse(domain.Invalid, "", "the handler is nil")
	}
	run := func(ctx context.Context, t *driven.Task) error { return h.Run(ctx, *t) }
	return r.add(&Entry{Kind: h.Kind(), bare: run, builtin: true}, opts)
}

// Use puts middleware around every handler, those registered before it too.
// On a sealed registry it is a Conflict.
func (r *Registry) Use(mw ...Middleware) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed {
		return refuse(domain.Conflict, "middleware", sealedHint)
	}
	if slices.ContainsFunc(mw, func(m Middleware) bool { return m == nil }) {
		return refuse(domain.Invalid, "middleware", "it is nil")
	}
	r.around = append(r.around, mw...)
	for kind, old := range r.entries {
		fresh := *old // entries that were given out stay as they are
		r.entries[kind] = r.wrap(&fresh)
	}
	return nil
}

// Kinds lists the kinds in byte order.
func (r *Registry) Kinds() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	kinds := make([]string, 0, len(r.entries))
	for kind := range r.entries {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// Find gives the entry of a kind.
func (r *Registry) Find(kind string) (*Entry, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.entries[kind]
	return e, ok
}

// Seal ends registration: a running runner's kinds do not change.
func (r *Registry) Seal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sealed = true
}

const sealedHint = "the runner has started: register everything before"

func (r *Registry) add(e *Entry, opts []Option) error {
	if err := domain.ValidateName("kind", e.Kind, domain.MaxKind); err != nil {
		return err
	}
	for _, opt := range opts {
		if err := opt(e); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed {
		return refuse(domain.Conflict, e.Kind, sealedHint)
	}
	if old, ok := r.entries[e.Kind]; ok {
		if old.builtin == e.builtin {
			return refuse(domain.Conflict, e.Kind, "there is a handler of this kind already: a kind has one")
		}
		if e.builtin {
			return nil
		}
	}
	r.entries[e.Kind] = r.wrap(e)
	return nil
}

func (r *Registry) wrap(e *Entry) *Entry {
	e.Run = e.bare
	for _, mw := range slices.Backward(r.around) {
		e.Run = mw(e.Run)
	}
	return e
}

func refuse(code domain.Code, subject, hint string) error {
	return &domain.Fault{Code: code, Op: "register handler", Subject: domain.CleanText(subject, domain.MaxKind), Hint: hint}
}
