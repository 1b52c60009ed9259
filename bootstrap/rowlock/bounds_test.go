package rowlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

type narrow struct {
	User int `json:"user"`
}

func (narrow) Kind() string { return "narrow" }

type linked struct {
	N int `json:"n"`
}

func (linked) Kind() string { return "linked" }

// tally counts who is inside, by bucket.
type tally struct {
	mu   sync.Mutex
	now  map[int]int
	most int
}

func (c *tally) inside(bucket int, do func()) {
	c.mu.Lock()
	c.now[bucket]++
	c.most = max(c.most, c.now[bucket])
	c.mu.Unlock()
	do()
	c.mu.Lock()
	c.now[bucket]--
	c.mu.Unlock()
}

func (c *tally) peak() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most
}

// Three workers, a limit of two for each user, and a chain whose jobs fail once
// each: no bucket is over its limit, the chain keeps its order, and at the end
// nobody holds anything or waits.
func TestBoundsHold(t *testing.T) {
	for name, dsn := range stores(t) {
		t.Run(name, func(t *testing.T) {
			q := open(t, dsn, rowlock.Migrate(), rowlock.Synchronous("NORMAL"))
			users := tally{now: map[int]int{}}
			var mu sync.Mutex
			var order []int
			rowlock.Handle(q, func(_ context.Context, j work.Job[narrow]) error {
				users.inside(j.Args.User, func() { <-time.After(2 * time.Millisecond) })
				return nil
			}, work.Timeout(time.Minute), work.Limited(work.Limit{N: 2, Key: work.KeyOf(func(n narrow) string { return string(rune('a' + n.User)) })}))
			rowlock.Handle(q, func(_ context.Context, j work.Job[linked]) error {
				if j.Attempt == 1 {
					return work.RetryAfter(time.Millisecond, errors.New("once more"))
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, j.Args.N)
				return nil
			})
			const jobs, links = 150, 10
			var items []enqueue.Item
			for i := range jobs {
				items = append(items, enqueue.Item{Args: narrow{i % 3}})
			}
			for i := range links {
				items = append(items, enqueue.Item{Args: linked{i}, Options: []enqueue.Option{enqueue.Chain("chain"), enqueue.Priority(links - i)}})
			}
			if _, err := q.EnqueueMany(t.Context(), items); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				defer background(t, q, rowlock.Concurrency(8))()
			}
			eventually(t, func() bool {
				n, err := q.Inspect().Count(t.Context(), domain.Filter{States: []domain.State{domain.Done}})
				return err == nil && n.N == jobs+links
			})
			mu.Lock()
			defer mu.Unlock()
			for i, n := range order {
				if i != n {
					t.Errorf("the chain ran as %v", order)
					break
				}
			}
			if users.peak() > 2 {
				t.Errorf("%d ran at once, the limit is 2", users.peak())
			}
			held, err := q.Bounds().Held(t.Context(), domain.Slot{}, 0)
			waiting, err2 := q.Bounds().Waiting(t.Context(), "", 0)
			if err := errors.Join(err, err2); err != nil || len(held)+len(waiting) > 0 {
				t.Errorf("%v are held, %v wait, %v", held, waiting, err)
			}
		})
	}
}
