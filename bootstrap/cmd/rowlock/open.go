package main

import (
	"context"
	"errors"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/rowlock/rowlock/adapters/driven/execjob"
	"github.com/rowlock/rowlock/adapters/driven/httpjob"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/adapters/driving/cli"
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/bootstrap/backends"
	"github.com/rowlock/rowlock/bootstrap/rowlock"
	"github.com/rowlock/rowlock/domain"
)

// open opens the store for the commands.
func open(ctx context.Context, s cli.Settings) (*cli.App, error) {
	log, err := logger(s.LogLevel, s.Log)
	if err != nil {
		return nil, err
	}
	file, err := configOf(s.Work)
	if err != nil {
		return nil, err
	}
	fresh, err := backends.Fresh(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	opts := []rowlock.Option{rowlock.TablePrefix(s.TablePrefix), rowlock.WithLogger(log)}
	if s.Work != nil {
		opts = append(opts, rowlock.Retention(s.Work.Keep), rowlock.Namespace(file.Namespace))
	}
	q, err := rowlock.Open(ctx, s.Store, opts...)
	if err != nil {
		return nil, err
	}
	app := &cli.App{
		Enqueuer: q.Client, Inspector: q.Inspect(), Operator: q.Operate(), Bulk: q.Operate(), Pruner: q, Bounds: q.Bounds(), Batches: q.Batches(), Schedules: q.Schedules(),
		Switches: q.Switches(),
		Schema:   q.Schema(), Fresh: fresh, Close: q.Close,
	}
	if s.Work != nil {
		hire(app, q, s.Work)
		for _, d := range file.Schedules {
			q.DeclareSchedule(d)
		}
	}
	return app, nil
}

// hire registers the built-in kinds and makes the worker.
func hire(app *cli.App, q *rowlock.Queue, w *cli.WorkSettings) {
	http := httpjob.New(httpjob.Config{AllowPrivate: w.HTTPAllowPrivate, Clock: system.Clock()})
	q.Builtin(http)
	if w.AllowExec {
		q.Builtin(execjob.New())
	}
	app.Kinds = q.Kinds()
	app.Worker = q.Worker(workOptions(w)...)
	closeQueue := app.Close
	app.Close = func() error {
		defer http.Close()
		return closeQueue()
	}
}

func workOptions(w *cli.WorkSettings) []rowlock.WorkOption {
	opts := []rowlock.WorkOption{
		rowlock.Concurrency(w.Concurrency), rowlock.Queues(runner.Queues(w.Queues)),
		rowlock.Lease(w.Lease), rowlock.Poll(w.Poll), rowlock.Upkeep(w.Upkeep), rowlock.StopTimeout(w.StopTimeout),
		rowlock.ExitsWithin(w.ExitsWithin), rowlock.PruneEvery(w.PruneEvery),
	}
	if w.NoPrune {
		opts = append(opts, rowlock.NoPrune())
	}
	if w.Abandon {
		opts = append(opts, rowlock.Unfinished(runner.Abandon))
	}
	if w.NoPrefetch {
		opts = append(opts, rowlock.NoPrefetch())
	}
	return opts
}

// logger writes lines for people.
func logger(level string, w io.Writer) (*zap.Logger, error) {
	least, err := zapcore.ParseLevel(level)
	if err != nil || least > zapcore.ErrorLevel {
		return nil, &domain.Fault{
			Code: domain.Invalid, Op: "read flags", Subject: "--log-level",
			Hint: "give debug, info, warn or error", Err: errors.Unwrap(err),
		}
	}
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.ISO8601TimeEncoder
	cfg.EncodeDuration = zapcore.StringDurationEncoder
	return zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(cfg), zapcore.Lock(zapcore.AddSync(w)), least)), nil
}
