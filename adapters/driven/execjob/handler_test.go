//go:build unix

package execjob

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

func run(ctx context.Context, t *testing.T, args map[string]any) error {
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return New().Run(ctx, driven.Task{Kind: Kind, Attempt: 1, Args: text})
}

// sh is a job that runs a script.
func sh(script string) map[string]any {
	return map[string]any{"command": "sh", "args": []string{"-c", script}}
}

func state(err error) domain.State {
	return domain.Judge(&domain.Job{MaxAttempts: 9}, domain.Attempt{Err: err}, domain.Rule{Policy: domain.DefaultRetry()}).To
}

func TestCommandGetsWhatTheArgsSay(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ROWLOCK_STORE", "hush")
	args := sh(`cat > out; printf '%s|%s|%s' "$1" "$WORD" "$ROWLOCK_STORE" >> out`)
	args["args"] = append(args["args"].([]string), "sh", `a' "$b`)
	args["dir"], args["env"], args["stdin"] = dir, map[string]string{"WORD": "x y"}, "in|"
	if err := run(t.Context(), t, args); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "out"))
	if want := `in|a' "$b|x y|`; err != nil || string(got) != want {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

func TestFailuresTellCodeAndOutputOnly(t *testing.T) {
	for name, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"exit code":   {sh("echo out; echo err >&2; exit 7 # hush"), "exec: exit status 7; its output: out\nerr"},
		"signal":      {sh("kill -TERM $$"), "exec: signal: terminated"},
		"no command":  {map[string]any{"command": "hush-is-not-there"}, "not on this runner's PATH"},
		"no file":     {map[string]any{"command": "/hush/is/not/there"}, "not there on this runner"},
		"no dir":      {map[string]any{"command": "true", "dir": "/hush"}, "not there on this runner"},
		"not allowed": {map[string]any{"command": "/etc/passwd"}, "may not start"},
	} {
		err := run(t.Context(), t, c.args)
		if state(err) != domain.Scheduled || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v: %v", name, state(err), err)
		}
	}
}

func TestOutputIsCutToItsEnd(t *testing.T) {
	err := run(t.Context(), t, sh("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; exit 1"))
	if text := err.Error(); len(text) > maxTail+200 || !strings.HasSuffix(text, "line 1999") || !strings.Contains(text, "…") {
		t.Fatalf("%d bytes, ends %q", len(text), text[len(text)-20:])
	}
}

// TestWholeGroupIsKilled has a grandchild that holds a named pipe open: its
// reader sees the end only when the grandchild is gone.
func TestWholeGroupIsKilled(t *testing.T) {
	stop := errors.New("stop")
	for name, end := range map[string]func(args map[string]any, cancel context.CancelCauseFunc){
		"timeout": func(args map[string]any, _ context.CancelCauseFunc) { args["timeout"] = "200ms" },
		"cancel":  func(_ map[string]any, cancel context.CancelCauseFunc) { cancel(stop) },
	} {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			args := sh("(echo started; exec sleep 600) > " + fifo + " & wait")
			if name == "timeout" {
				end(args, cancel)
			}
			ended := make(chan error, 1)
			go func() { ended <- run(ctx, t, args) }()
			pipe, err := os.Open(fifo)
			if err != nil {
				t.Fatal(err)
			}
			defer pipe.Close()
			if _, err := io.ReadFull(pipe, make([]byte, 8)); err != nil {
				t.Fatal(err)
			}
			if name == "cancel" {
				end(args, cancel)
			}
			if _, err := io.Copy(io.Discard, pipe); err != nil {
				t.Fatal(err)
			}
			err = <-ended
			if name == "cancel" && !errors.Is(err, stop) || name == "timeout" && !strings.Contains(err.Error(), "ran over 200ms") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestLeftoverProcessIsAFailure(t *testing.T) {
	err := run(t.Context(), t, sh("sleep 600 & exit 0"))
	if state(err) != domain.Scheduled || !strings.Contains(err.Error(), "left processes behind") {
		t.Fatalf("got %v", err)
	}
}

func TestBadArgsAreBuried(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "args.command", `{"command":1}`: "args.command", `{"command":"x","shell":true}`: `"shell"`,
		`{"command":"x","timeout":"soon"}`: "args.timeout", `{"command":"x","timeout":-1}`: "args.timeout",
		`{"command":"x","env":{"A=B":"hush"}}`: "args.env.A=B", `[]`: "args:",
	} {
		err := New().Run(t.Context(), driven.Task{Args: []byte(text)})
		if state(err) != domain.Dead || domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v: %v", text, state(err), err)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	for _, sizes := range [][]int{{1, 1}, {5, 6}, {10}, {11}, {3, 3, 3, 3, 3}, {25, 4}, {4, 25}} {
		out, all := &tail{limit: 10}, ""
		for i, n := range sizes {
			part := strings.Repeat(string(rune('a'+i)), n)
			all += part
			if got, err := out.Write([]byte(part)); got != n || err != nil {
				t.Fatal(got, err)
			}
		}
		if want := all[max(0, len(all)-10):]; string(out.kept) != want || out.cut != (len(all) > 10) {
			t.Errorf("%v: got %q cut %v, want %q", sizes, out.kept, out.cut, want)
		}
	}
}

func TestTimeoutIsAParsedSpan(t *testing.T) {
	a, err := parseArgs([]byte(`{"command":"x","timeout":1.5}`))
	if err != nil || time.Duration(a.Timeout) != 1500*time.Millisecond {
		t.Fatalf("got %+v, %v", a, err)
	}
}
