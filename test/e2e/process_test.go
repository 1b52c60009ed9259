package e2e

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a command that runs on, e.g. rowlock work.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	log   *syncBuffer
	out   *syncBuffer
	ended chan struct{}
}

// start starts a command.
func (b *box) start(args ...string) *process {
	b.t.Helper()
	return b.watch(b.command(context.WithoutCancel(b.t.Context()), args...))
}

// watch starts a process; it is killed at the end of the test.
func (b *box) watch(cmd *exec.Cmd) *process {
	b.t.Helper()
	p := &process{t: b.t, cmd: cmd, log: &syncBuffer{}, out: &syncBuffer{}, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.log
	if err := p.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the exit code is asked of the state
	}()
	b.t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.ended
		if b.t.Failed() {
			b.t.Logf("%v wrote:\n%.6000s", cmd.Args, p.log)
		}
	})
	return p
}

func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.ended:
	default:
		_ = p.cmd.Process.Signal(s) // it may end this very moment
	}
}

// exit waits for the end and gives the exit code, -1 after a signal.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("it did not end; it wrote:\n%s", p.log)
	}
	return p.cmd.ProcessState.ExitCode()
}

// stop ends a worker as a service manager does.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		p.t.Errorf("exit %d after SIGTERM; it wrote:\n%s", code, p.log)
	}
}

// logged waits for a line in the log.
func (p *process) logged(part string) {
	p.t.Helper()
	eventually(p.t, "the log says "+part, func() bool { return strings.Contains(p.log.String(), part) })
}

// syncBuffer is a text that one writes while another reads.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
