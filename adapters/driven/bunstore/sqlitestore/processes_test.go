package sqlitestore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/sqlitestore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Processes of this very binary stand for other programs on the same file.
const (
	roleEnv = "ROWLOCK_TEST_ROLE"
	pathEnv = "ROWLOCK_TEST_PATH"
)

// play is what a process does that was started for a role.
func play(role string) int {
	ctx := context.Background() //nolint:forbidigo // this is no test but a process of its own
	var report any
	var err error
	switch role {
	case "work":
		report, err = workers(ctx, os.Getenv(pathEnv), workFor())
	case "migrate":
		err = migrate(ctx, os.Getenv(pathEnv))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err, domain.HintOf(err))
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		return 1
	}
	return 0
}

// start runs a process in a role.
func start(t testing.TB, role, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), roleEnv+"="+role, pathEnv+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func workFor() time.Duration {
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		return 20 * time.Second
	}
	return 1500 * time.Millisecond
}

// tale is what a working process tells.
type tale struct {
	Calls   int
	Longest time.Duration
	Settled int
	Errors  []string
}

// TestProcesses has three processes with twenty workers each on one file: no
// caller ever sees a BUSY, and none waits for longer than a second.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	b := open(t, sqlitestore.Config{Path: path})
	tales := make([]tale, 3)
	var wg sync.WaitGroup
	for i := range tales {
		wg.Go(func() {
			out, err := start(t, "work", path).Output()
			if err != nil {
				t.Error(err)
				return
			}
			if err := json.Unmarshal(out, &tales[i]); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	settled := 0
	for i, got := range tales {
		settled += got.Settled
		t.Logf("process %d: %d calls, %d settled, longest wait %v", i+1, got.Calls, got.Settled, got.Longest)
		if len(got.Errors) > 0 || got.Settled == 0 {
			t.Errorf("process %d: %d settled, errors %v", i+1, got.Settled, got.Errors)
		}
		if got.Longest > time.Second {
			t.Errorf("process %d: a call waited %v", i+1, got.Longest)
		}
	}
	done, _, err := b.Store.Count(t.Context(), domain.Filter{States: []domain.State{domain.Done}}, 1_000_000)
	if err != nil || done != settled {
		t.Errorf("%d jobs are done (%v), the processes settled %d", done, err, settled)
	}
}

// workers runs twenty workers that insert, claim, renew and settle.
func workers(ctx context.Context, path string, span time.Duration) (tale, error) {
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	b, err := sqlitestore.Open(ctx, sqlitestore.Config{Path: path})
	if err != nil {
		return tale{}, err
	}
	defer func() { _ = b.Close() }()
	all := &told{}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for ctx.Err() == nil {
				all.round(context.WithoutCancel(ctx), b)
			}
		})
	}
	wg.Wait()
	return all.tale, nil
}

// told collects the tale of all workers.
type told struct {
	mu sync.Mutex
	tale
}

// round is one job's way. Its calls are not cut off: each shall get its answer.
func (all *told) round(ctx context.Context, b driven.Backend) {
	all.call(func() error { _, err := b.Store.Insert(ctx, jobs(2, "k")); return err })
	var got driven.Claims
	all.call(func() (err error) {
		got, err = b.Store.Claim(ctx, driven.ClaimRequest{
			Token: ids.NewToken(), Runner: "r", Lease: time.Minute, Queue: "default", Kinds: []string{"k"}, N: 2,
		})
		return err
	})
	var renewals []driven.Renewal
	var outs []driven.Outcome
	for _, c := range got.Jobs {
		renewals = append(renewals, driven.Renewal{Ticket: c.Ticket()})
		outs = append(outs, driven.Outcome{Ticket: c.Ticket(), To: domain.Done, Counts: true, Keep: time.Hour})
	}
	all.call(func() error {
		res, err := b.Store.Renew(ctx, driven.RenewRequest{Tickets: renewals, Lease: time.Minute})
		if err == nil && len(res.Lost) > 0 {
			err = fmt.Errorf("lost %v", res.Lost)
		}
		return err
	})
	all.call(func() error {
		res, err := b.Store.Settle(ctx, outs)
		if err == nil && len(res.Dropped) > 0 {
			err = fmt.Errorf("dropped %v", res.Dropped)
		}
		return err
	})
	all.mu.Lock()
	all.Settled += len(outs)
	all.mu.Unlock()
}

func (all *told) call(run func() error) {
	clock := system.Clock()
	began := clock.Now()
	err := run()
	took := clock.Now().Sub(began)
	all.mu.Lock()
	defer all.mu.Unlock()
	all.Calls++
	all.Longest = max(all.Longest, took)
	if err != nil && len(all.Errors) < 5 {
		all.Errors = append(all.Errors, err.Error())
	}
}
