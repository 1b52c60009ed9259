package rowlock

import (
	"context"

	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// schema gives a store's migrator to the outside.
type schema struct{ own driven.Migrator }

var _ driving.Schema = schema{}

func (s schema) Up(ctx context.Context, to int) ([]driving.Step, error) {
	return steps(s.own.Up(ctx, to))
}

func (s schema) Down(ctx context.Context, to int) ([]driving.Step, error) {
	return steps(s.own.Down(ctx, to))
}

func (s schema) Status(ctx context.Context) ([]driving.Step, error) {
	return steps(s.own.Status(ctx))
}

func (s schema) Print(step int) (string, error) { return s.own.Print(step) }

func steps(own []driven.Step, err error) ([]driving.Step, error) {
	out := make([]driving.Step, len(own))
	for i, step := range own {
		out[i] = driving.Step(step)
	}
	return out, err
}
