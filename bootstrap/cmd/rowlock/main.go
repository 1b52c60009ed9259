package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/adapters/driving/cli"
)

// interrupted is the exit code of a process that a second signal ended at once.
const interrupted = 130

func main() {
	os.Exit(cli.Run(untilSignal(), os.Args[1:], cli.Config{
		Open: open, Demo: demo, Bench: bench,
		Version: version(), Now: system.Clock().Now, Getenv: os.LookupEnv,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}))
}

// echo is how soon after the first signal another one is that same request: a
// supervisor may signal the process and its group, a terminal and a wrapper both
// pass Ctrl-C on.
const echo = 500 * time.Millisecond

// untilSignal is a context that the first SIGINT or SIGTERM ends. The second
// signal ends the process at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go heed(signals, system.Clock().Now, cancel, func() { os.Exit(interrupted) })
	return ctx
}

// heed calls first at the first signal and second at the next that is no echo of it.
func heed(signals <-chan os.Signal, now func() time.Time, first, second func()) {
	<-signals
	began := now()
	first()
	for range signals {
		if now().Sub(began) >= echo {
			second()
			return
		}
	}
}

// version is the module's version, as go install records it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
