package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// binary is the built command line; TestMain makes it.
var binary string

func TestMain(m *testing.M) {
	if isCrew() {
		return
	}
	if os.Getenv(aloneVar) != "" { // it has no use for the binary
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "rowlock-e2e-")
	if err == nil {
		binary = filepath.Join(dir, "rowlock")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", binary, "../../bootstrap/cmd/rowlock").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := 1
	// Most of a case is waiting. More at a time would be more connections than a
	// server takes; -test.parallel says otherwise.
	if err = flag.Set("test.parallel", "3"); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// patience is how long a test waits for what must come; the long forms remove 200,000 rows
// at the pace of a prune, which rests ten times as long as it works.
var patience = func() time.Duration {
	if stress() {
		return 10 * time.Minute
	}
	return 2 * time.Minute
}()

// box is a user with a store of their own.
type box struct {
	t     *testing.T
	store store
	dir   string
	env   []string
}

// with is the same user with more environment.
func (b *box) with(env ...string) *box {
	more := *b
	more.env = append(append([]string{}, b.env...), env...)
	return &more
}

// result is what a command printed, and its exit code.
type result struct {
	args     []string
	code     int
	out, err string
}

func (r result) String() string {
	return fmt.Sprintf("rowlock %s: exit %d\nstdout: %.2000s\nstderr: %.4000s", strings.Join(r.args, " "), r.code, r.out, r.err)
}

// run runs a command to its end.
func (b *box) run(args ...string) result { return b.feed("", args...) }

// feed is run with standard input.
func (b *box) feed(stdin string, args ...string) result {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	cmd := b.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatalf("rowlock %v: %v", args, err)
	}
	return result{args, cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func (b *box) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = b.dir
	for _, env := range os.Environ() {
		if !strings.HasPrefix(env, "ROWLOCK_") {
			cmd.Env = append(cmd.Env, env)
		}
	}
	cmd.Env = append(cmd.Env, b.env...)
	return cmd
}

// ok runs a command that must succeed.
func (b *box) ok(args ...string) result {
	b.t.Helper()
	r := b.run(args...)
	if r.code != 0 {
		b.t.Fatal(r)
	}
	return r
}

// fails runs a command that must end with the exit code.
func (b *box) fails(code int, args ...string) result {
	b.t.Helper()
	r := b.run(args...)
	if r.code != code {
		b.t.Errorf("want exit %d: %v", code, r)
	}
	return r
}

// read reads the one JSON document of a result.
func read[T any](t *testing.T, r result) (v T) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(r.out))
	if err := dec.Decode(&v); err != nil || dec.More() {
		t.Fatalf("not one JSON document (%v): %v", err, r)
	}
	return v
}

// file writes a file of lines.
func (b *box) file(lines ...string) string {
	b.t.Helper()
	name := filepath.Join(b.dir, "jobs.jsonl")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return name
}

// tally is the counts of stats.
type tally struct {
	Pending, Due, Scheduled, Blocked, Running, Stuck, Done, Dead, Cancelled int
}

type stats struct {
	Totals tally
	Queues []struct {
		Queue string
		tally
	}
	Unhandled []string
	Runners   []struct{ ID string }
	Exact     bool
}

func (b *box) stats() stats {
	b.t.Helper()
	s := read[stats](b.t, b.ok("stats", "--json"))
	if s.Totals.Pending != s.Totals.Due+s.Totals.Scheduled+s.Totals.Blocked || !s.Exact {
		b.t.Errorf("pending does not add up: %+v", s)
	}
	return s
}

// job is a job as jobs list and jobs show print it.
type job struct {
	ID, Kind, Queue, State, Error, Runner string
	Tags                                  []string
	Attempts, Stalls                      int
	Args                                  json.RawMessage
	RunAt                                 time.Time `json:"run_at"`
	History                               []struct{ Message string }
}

func (b *box) jobs(args ...string) []job {
	b.t.Helper()
	return read[[]job](b.t, b.ok(append([]string{"jobs", "list", "--limit", "500", "--json"}, args...)...))
}

func (b *box) show(id string) job {
	b.t.Helper()
	return read[job](b.t, b.ok("jobs", "show", id, "--json"))
}

// eventually waits until the condition holds. A look may be a whole process: it leaves the
// machine to what is waited for twice as long as it takes.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		began := time.Now()
		if holds() {
			return
		}
		pause := time.NewTimer(max(50*time.Millisecond, 2*time.Since(began)))
		select {
		case <-pause.C:
		case <-limit.C:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
