package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// The kinds of the demo.
type (
	signup struct { // enqueues a welcome
		User int `json:"user"`
	}
	welcome struct { // always works
		User int `json:"user"`
	}
	thumbnail struct { // some work for the processor, with a result
		Photo int `json:"photo"`
	}
	payment struct { // fails the first times
		Order int `json:"order"`
		Fails int `json:"fails"`
	}
	webhook struct { // fails whenever it is tried
		Order int `json:"order"`
	}
	report struct { // is buried until its bug is mended
		Month int `json:"month"`
	}
	survey struct { // finds that it is not needed
		User int `json:"user"`
	}
	reminder struct { // is due in an hour
		User int `json:"user"`
	}
	imports struct { // the crashed runner had these
		File int `json:"file"`
	}
)

func (signup) Kind() string    { return "demo/signup" }
func (welcome) Kind() string   { return "demo/welcome" }
func (thumbnail) Kind() string { return "demo/thumbnail" }
func (payment) Kind() string   { return "demo/payment" }
func (webhook) Kind() string   { return "demo/webhook" }
func (report) Kind() string    { return "demo/report" }
func (survey) Kind() string    { return "demo/survey" }
func (reminder) Kind() string  { return "demo/reminder" }
func (imports) Kind() string   { return "demo/import" }

// quick is a retry policy for a demo that nobody wants to wait for.
func quick(attempts int) work.Option {
	return work.Retry(domain.RetryPolicy{Base: 30 * time.Millisecond, Factor: 2, Jitter: 0.15, Cap: time.Second, MaxAttempts: attempts})
}

// handlers registers what the demo's runner can do.
func (t *tour) handlers() {
	t.batchHandlers()
	t.scheduleHandlers()
	rowlock.Handle(t.queue, func(ctx context.Context, j work.Job[signup]) error {
		return t.enqueue(ctx, welcome{j.Args.User})
	})
	rowlock.Handle(t.queue, func(context.Context, work.Job[welcome]) error { return nil })
	rowlock.Handle(t.queue, func(ctx context.Context, j work.Job[thumbnail]) error {
		sum := sha256.Sum256(fmt.Append(nil, j.Args.Photo))
		for range 2000 {
			sum = sha256.Sum256(sum[:])
		}
		return work.SetResult(ctx, map[string]string{"sha256": hex.EncodeToString(sum[:])})
	})
	rowlock.Handle(t.queue, func(_ context.Context, j work.Job[payment]) error {
		if j.Attempt <= j.Args.Fails {
			return errors.New("the bank answered 503")
		}
		return nil
	}, quick(6))
	rowlock.Handle(t.queue, func(context.Context, work.Job[webhook]) error {
		return errors.New("the other side refused the connection")
	}, quick(3))
	rowlock.Handle(t.queue, func(context.Context, work.Job[report]) error {
		if !t.fixed.Load() {
			return work.Bury(errors.New("column total is missing: trying again will not help"))
		}
		return nil
	})
	rowlock.Handle(t.queue, func(context.Context, work.Job[survey]) error {
		return work.Cancel(errors.New("the user has left"))
	})
	rowlock.Handle(t.queue, func(context.Context, work.Job[reminder]) error { return nil })
	rowlock.Handle(t.queue, func(context.Context, work.Job[imports]) error { return nil })
}
