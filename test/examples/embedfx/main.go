package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.uber.org/fx"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/bootstrap/rowlockfx"
)

func main() {
	dir, err := os.MkdirTemp("", "embedfx")
	if err == nil {
		err = errors.Join(run(context.Background(), filepath.Join(dir, "app.db"), os.Stdout), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// app is the host: its own parts, and Rowlock beside them.
func app(file string, out io.Writer) fx.Option {
	return fx.Options(
		fx.NopLogger,
		fx.Supply(path(file), sqlitestore.Config{}, fx.Annotate(out, fx.As(new(io.Writer)))),
		fx.Provide(newPool, newSignup, newMailer),
		rowlockfx.Module(
			rowlockfx.Backend(sqlitestore.FromDB),
			rowlockfx.Migrate(),
			rowlockfx.Worker(runner.Config{Queues: runner.Queues{"mail": 2}}),
		),
		rowlockfx.Handle[Welcome](newWelcomer),
		rowlockfx.Handle[Farewell](newFareweller),
	)
}

func run(ctx context.Context, file string, out io.Writer) error {
	var signup *Signup
	host := fx.New(app(file, out), fx.Populate(&signup))
	if err := host.Start(ctx); err != nil {
		return err
	}
	err := signup.Register(ctx, "") // refused: neither a user nor a job
	fmt.Fprintln(out, "first sign-up:", err)
	if err = signup.Register(ctx, "ann"); err == nil {
		<-host.Wait() // the last handler shuts the app down
		err = signup.Report(ctx, out)
	}
	return errors.Join(err, host.Stop(ctx))
}
