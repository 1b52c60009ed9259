package runner_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/ports/driven"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nop is a handler that does nothing.
type nop struct{}

func (nop) Kind() string                           { return "nop" }
func (nop) Run(context.Context, driven.Task) error { return nil }
