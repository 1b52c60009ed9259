package retrystore

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// How often and how fast: the waits are 10 ms, doubled up to 200 ms, each times
// 0.5 to 1.5, so that those who collided do not meet again.
const (
	tries     = 8
	firstWait = 10 * time.Millisecond
	mostWait  = 200 * time.Millisecond
)

// Wrap gives the backend with a store that retries contention, eight tries in
// all. Its other capabilities stay as they are.
func Wrap(b driven.Backend) driven.Backend {
	b.Store = &store{next: b.Store}
	return b
}

// again makes the call until it is not Contended, the tries are used up, or the context ends.
func again[T any](ctx context.Context, call func() (T, error)) (T, error) {
	wait := firstWait
	for try := 1; ; try++ {
		res, err := call()
		if domain.CodeOf(err) != domain.Contended || try == tries {
			return res, err
		}
		if !sleep(ctx, wait) {
			return res, err
		}
		wait = min(2*wait, mostWait)
	}
}

// sleep waits about that long and says whether the context is still alive.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait/2 + rand.N(wait)) //nolint:gosec // no secret
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// do is again for calls that answer with an error alone.
func do(ctx context.Context, call func() error) error {
	_, err := again(ctx, func() (struct{}, error) { return struct{}{}, call() })
	return err
}
