package work

import (
	"context"
	"sync"

	"github.com/rowlock/rowlock/domain"
)

// Result is where an attempt keeps the result that its handler sets.
type Result struct {
	mu   sync.Mutex
	text []byte
}

type resultKey struct{}

// WithResult puts a place for the result into a context. A runner does it for
// each attempt, so that SetResult works.
func WithResult(ctx context.Context, r *Result) context.Context {
	return context.WithValue(ctx, resultKey{}, r)
}

// JSON is the result that was set, nil if there is none.
func (r *Result) JSON() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text
}

// SetResult sets the result of the current attempt, at most domain.MaxResult
// bytes of JSON. It is stored if the attempt succeeds; the last call stands.
func SetResult(ctx context.Context, v any) error {
	r, ok := ctx.Value(resultKey{}).(*Result)
	if !ok {
		return &domain.Fault{Code: domain.Invalid, Op: "set result", Hint: "give the context that the handler was called with"}
	}
	text, err := Marshal("result", v)
	if err != nil {
		return err
	}
	if err := domain.ValidateJSON("result", text, domain.MaxResult); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = text
	return nil
}
