package execjob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Kind is the name of the kind.
const Kind = "exec"

const (
	// maxTail is how much of the output's end an error shows.
	maxTail = 2 << 10
	// pipeWait is how long the output may stay open after the command ended.
	pipeWait = 2 * time.Second
)

// Handler runs jobs of the kind "exec". It is safe for concurrent use.
type Handler struct{}

var _ driven.Handler = Handler{}

// New makes the handler.
func New() Handler { return Handler{} }

// Kind is "exec".
func (Handler) Kind() string { return Kind }

// Run runs the command to its end. Exit code 0 is success; anything else is
// tried again by the retry policy.
func (Handler) Run(ctx context.Context, task driven.Task) error {
	a, err := parseArgs(task.Args)
	if err != nil {
		return domain.Bury(err)
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if a.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, time.Duration(a.Timeout))
	}
	defer cancel()
	out := &tail{limit: maxTail}
	cmd := a.build(limited, out)
	err = cmd.Run()
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		_ = killGroup(cmd)
		return fmt.Errorf("exec: the command ended and left processes behind that hold its output; they were killed")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return fmt.Errorf("exec: killed, it ran over %v%s", time.Duration(a.Timeout), out.shown())
	}
	return failure(err, out)
}

// failure tells how the command ended, without its name and arguments.
func failure(err error, out *tail) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("exec: %s%s", exit.ProcessState, out.shown())
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("exec: the command is not on this runner's PATH")
	case errors.Is(err, os.ErrNotExist):
		return errors.New("exec: the command or its directory is not there on this runner")
	case errors.Is(err, os.ErrPermission):
		return errors.New("exec: this runner may not start the command")
	}
	return errors.New("exec: the command could not be started")
}

func (a *args) build(ctx context.Context, out *tail) *exec.Cmd {
	cmd := exec.CommandContext(ctx, a.Command, a.Args...)
	cmd.Dir = a.Dir
	cmd.Env = a.environ()
	cmd.Stdin = strings.NewReader(a.Stdin)
	cmd.Stdout, cmd.Stderr = out, out // one writer: the two are not written at the same time
	cmd.WaitDelay = pipeWait
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	return cmd
}

// environ is what the command sees: a few names of the runner's, then its own.
func (a *args) environ() []string {
	env := make([]string, 0, len(a.Env)+8)
	for _, name := range []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range a.Env {
		env = append(env, name+"="+value)
	}
	return env
}
