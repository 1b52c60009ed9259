package servers

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// run runs a script of this folder with a temp folder of its own, which is left
// empty when nothing stays behind.
func run(t *testing.T, tmp string, env []string, name string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := script(t, tmp, env, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func script(t *testing.T, tmp string, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "./"+name, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ROWLOCK_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp, "ROWLOCK_SERVERS_CACHE="+filepath.Join(tmp, "cache"))
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// tmpDir is a temp folder that the servers' user can reach.
func tmpDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rowlock-scripts")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func runFolders(t *testing.T, tmp string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(tmp, "rowlock-servers.*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestUpPrintsWhatIsGiven(t *testing.T) {
	tmp := tmpDir(t)
	dsn := "u:it's @tcp(h:1)/db?a=b&c=$d"
	out, errs, code := run(t, tmp, []string{"ROWLOCK_MYSQL_DSN=" + dsn, "ROWLOCK_MARIADB_DSN=m"}, "up", "mysql", "mariadb")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", out+`printf '%s|%s|%s' "$ROWLOCK_MYSQL_DSN" "$ROWLOCK_MARIADB_DSN" "$ROWLOCK_SERVERS_DIR"`)
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := runFolders(t, tmp)
	if len(folders) != 1 || string(got) != dsn+"|m|"+folders[0] {
		t.Fatalf("evaluated to %s, with %v", got, folders)
	}
	if !strings.Contains(errs, "ROWLOCK_MSSQL_DSN IS NOT GIVEN") {
		t.Errorf("nothing is said of SQL Server: %s", errs)
	}
	if _, errs, code := run(t, tmp, nil, "down", folders[0]); code != 0 || len(runFolders(t, tmp)) != 0 {
		t.Errorf("down: exit %d, left %v: %s", code, runFolders(t, tmp), errs)
	}
}

func TestUpFailsWithoutAServer(t *testing.T) {
	for name, c := range map[string]struct {
		env  []string
		args []string
		says string
	}{
		"unknown name":       {nil, []string{"oracle"}, "oracle"},
		"unreachable mirror": {[]string{"ROWLOCK_DEBIAN_MIRROR=file:/nowhere/debian"}, []string{"mariadb"}, "FAILED: mariadb"},
		"strange PostgreSQL": {[]string{"ROWLOCK_PG_BIN=/nowhere"}, []string{"postgres"}, "FAILED: postgres"},
		"pooler without one": {[]string{"ROWLOCK_PG_BIN=/nowhere"}, []string{"pgbouncer"}, "FAILED: postgres pgbouncer"},
		"unreachable cache":  {[]string{"ROWLOCK_SERVERS_CACHE=/dev/null/cache"}, []string{"postgres"}, "/dev/null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmp := tmpDir(t)
			out, errs, code := run(t, tmp, c.env, "up", c.args...)
			if code == 0 || out != "" || !strings.Contains(errs, c.says) {
				t.Errorf("exit %d, printed %q and said %s", code, out, errs)
			}
			if left := runFolders(t, tmp); len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestDownTouchesOnlyRunFolders(t *testing.T) {
	tmp := tmpDir(t)
	if _, _, code := run(t, tmp, nil, "down", tmp); code == 0 {
		t.Error("down took a folder that is not of a run")
	}
	if _, err := os.Stat(tmp); err != nil {
		t.Error(err)
	}
}

// A PostgreSQL that never becomes ready, and an `up` that is ended meanwhile.
func TestInterruptedUpLeavesNothing(t *testing.T) {
	tmp := tmpDir(t)
	for name, text := range map[string]string{
		"initdb":   "mkdir \"$2\"",
		"postgres": "[ \"$1\" != -V ] || { echo postgres 15.0; exit; }; while :; do sleep 0.1; done",
	} {
		if err := os.WriteFile(filepath.Join(tmp, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	up := script(t, tmp, []string{"ROWLOCK_PG_BIN=" + tmp}, "up", "postgres")
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	server := waitForServer(t, filepath.Join(tmp, "rowlock-servers.*/pid/postgres"))
	if err := up.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := up.Wait(); err == nil || up.ProcessState.ExitCode() != 128+int(syscall.SIGTERM) {
		t.Errorf("up ended with %v", err)
	}
	if line, _ := os.ReadFile(server); len(line) != 0 { // empty once it has ended, though not yet reaped
		t.Errorf("still there: %s", line)
	}
	if left := runFolders(t, tmp); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// waitForServer gives the file that holds the command line of the server whose
// pid is in a file of that pattern: empty before it runs and after it has ended.
func waitForServer(t *testing.T, pattern string) string {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); ; {
		select {
		case <-deadline:
			t.Fatal("no server was launched")
		case <-tick.C:
			files, _ := filepath.Glob(pattern)
			if len(files) != 1 {
				continue
			}
			pid, _ := os.ReadFile(files[0])
			line := filepath.Join("/proc", strings.TrimSpace(string(pid)), "cmdline")
			if text, _ := os.ReadFile(line); len(pid) > 0 && len(text) > 0 { // else it has not begun yet
				return line
			}
		}
	}
}
