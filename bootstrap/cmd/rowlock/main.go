package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

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

// untilSignal is a context that the first SIGINT or SIGTERM ends. The second
// signal ends the process at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(interrupted)
	}()
	return ctx
}

// version is the module's version, as go install records it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
