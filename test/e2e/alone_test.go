package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// aloneVar is set in a process that runs one test, which counts its goroutines.
const aloneVar = "ROWLOCK_E2E_ALONE"

// alone runs a test in a process of its own, beside others.
func alone(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Getenv(aloneVar) != "" {
		test(t)
		return
	}
	t.Parallel()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var exact []string
	for name := range strings.SplitSeq(t.Name(), "/") {
		exact = append(exact, "^"+regexp.QuoteMeta(name)+"$")
	}
	cmd := exec.CommandContext(t.Context(), own, "-test.v", "-test.count=1", "-test.run", strings.Join(exact, "/"))
	cmd.Env = append(os.Environ(), aloneVar+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+strings.Split(t.Name(), "/")[0]) {
		t.Fatalf("in a process of its own: %v", err)
	}
}

// onServers runs a test on the servers that can be had, each in a process of its own;
// in the short form on the named ones alone.
func onServers(t *testing.T, short []string, test func(t *testing.T, s store)) {
	t.Helper()
	for _, s := range stores() {
		if s.own || s.name == "sqlserver" {
			continue
		}
		if !stress() && !slices.Contains(short, s.name) {
			t.Logf("LEFT TO THE LONG FORM (ROWLOCK_STRESS=1): %s", s.name)
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			_ = s.dsn(t, "") // what is not there is said here, not by the other process alone
			alone(t, func(t *testing.T) { test(t, s) })
		})
	}
}
