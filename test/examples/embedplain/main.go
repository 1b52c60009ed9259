package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
)

// Welcome asks for a mail to a new user.
type Welcome struct {
	UserID int64 `json:"user_id"`
}

// Kind names the sort of job.
func (Welcome) Kind() string { return "mail/welcome" }

// Survey asks the user how it went, later.
type Survey struct {
	UserID int64 `json:"user_id"`
}

// Kind names the sort of job.
func (Survey) Kind() string { return "mail/survey" }

func main() {
	dir, err := os.MkdirTemp("", "embedplain")
	if err == nil {
		err = errors.Join(run(context.Background(), filepath.Join(dir, "app.db"), os.Stdout), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string, out io.Writer) (err error) {
	q, err := rowlock.Open(ctx, "sqlite:"+file, rowlock.Migrate())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	working, done := context.WithCancel(ctx)
	defer done()

	rowlock.Handle(q, func(ctx context.Context, j work.Job[Welcome]) error {
		if j.Attempt == 1 {
			fmt.Fprintf(out, "user %d: the mail server is busy\n", j.Args.UserID)
			return work.RetryAfter(10*time.Millisecond, errors.New("mail server busy"))
		}
		fmt.Fprintf(out, "user %d: welcome! (attempt %d)\n", j.Args.UserID, j.Attempt)
		_, _, err := q.Enqueue(ctx, Survey(j.Args), enqueue.After(20*time.Millisecond))
		return err
	}, work.MaxAttempts(8), work.Timeout(30*time.Second))

	rowlock.Handle(q, func(_ context.Context, j work.Job[Survey]) error {
		fmt.Fprintf(out, "user %d: how was it?\n", j.Args.UserID)
		done()
		return nil
	})

	for range 2 { // twice, as a retried request would
		_, result, err := q.Enqueue(ctx, Welcome{42}, enqueue.Unique("welcome:42"))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "enqueue: %v\n", result)
	}
	if err := q.Work(working, rowlock.Concurrency(50)); err != nil { // until done, then a graceful stop
		return err
	}
	stats, err := q.Inspect().Stats(ctx)
	fmt.Fprintf(out, "%d jobs done\n", stats.Totals().Done)
	return err
}
