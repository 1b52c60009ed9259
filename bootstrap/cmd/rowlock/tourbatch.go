package main

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/application/batches"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// The kinds of the demo's batch.
type (
	letter struct { // a member; some bounce, which kills them
		User int `json:"user"`
	}
	bounce struct { // the failure job of a letter
		work.FailedJob
	}
	mailed struct { // the callback, when every letter has ended
		Issue int                `json:"issue"`
		Batch domain.BatchReport `json:"batch,omitzero"`
	}
)

func (letter) Kind() string { return "demo/letter" }
func (bounce) Kind() string { return "demo/bounce" }
func (mailed) Kind() string { return "demo/mailed" }

const (
	letters     = 25
	bounceEvery = 10
	bounces     = letters / bounceEvery
)

func (t *tour) batchHandlers() {
	rowlock.Handle(t.queue, func(_ context.Context, j work.Job[letter]) error {
		if j.Args.User%bounceEvery == 0 {
			return work.Bury(errors.New("the mailbox is gone"))
		}
		return nil
	}, work.OnDeath(bounce{}.Kind()))
	rowlock.Handle(t.queue, func(context.Context, work.Job[bounce]) error {
		t.bounced.Add(1)
		return nil
	})
	rowlock.Handle(t.queue, func(_ context.Context, j work.Job[mailed]) error {
		t.mailed.Store(&j.Args.Batch)
		return nil
	})
}

// newsletter makes a batch.
func (t *tour) newsletter(ctx context.Context) error {
	made, err := t.queue.Batch(ctx, batches.Options{Name: "newsletter", Callback: mailed{Issue: 7}},
		batches.Of(several(letters, func(i int) work.Args { return letter{i} })...))
	if err != nil {
		return err
	}
	t.enqueued.Add(made.Total + bounces + 1) // what they lead to is counted before it comes
	t.say("4. Made a batch of %d letters, with a callback for when all of them have ended.", made.Total)
	return nil
}

// posted tells what became of the batch.
func (t *tour) posted() error {
	b := t.mailed.Load()
	if b == nil || b.Total != letters || b.Failed != bounces || t.bounced.Load() != bounces {
		return &domain.Fault{Code: domain.Internal, Op: "demo", Hint: "the callback of the batch did not run, or was told something else"}
	}
	t.say("8. The batch of letters has ended, %d done and %d failed, and its callback ran once. Each dead letter had its failure job.", b.Done, b.Failed)
	return nil
}
