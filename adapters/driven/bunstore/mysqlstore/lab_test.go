package mysqlstore_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

var ids = system.IDs()

func serverCPU(name string) float64 {
	pid, _ := os.ReadFile(os.Getenv("ROWLOCK_SERVERS_DIR") + "/pid/" + name)
	b, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
	f := strings.Fields(string(b))
	u, _ := strconv.Atoi(f[13])
	s, _ := strconv.Atoi(f[14])
	return float64(u+s) * 10000 // us
}

func TestLab(t *testing.T) {
	if os.Getenv("LAB") == "" {
		t.Skip()
	}
	for _, p := range products {
		t.Run(p.name, func(t *testing.T) {
			for _, kinds := range []int{1, 5, 50} {
				lab(t, p.name, p.dsn(t), kinds)
			}
		})
	}
}

func lab(t *testing.T, server, dsn string, kinds int) {
	b := openBare(t, mysqlstore.Config{DSN: dsn})
	up(t, b)
	const n = 20000
	names := make([]string, kinds)
	for i := range names {
		names[i] = fmt.Sprint("kind/", i)
	}
	c0, t0 := serverCPU(server), time.Now()
	for i := 0; i < n; i += 1000 {
		jobs := make([]domain.NewJob, 1000)
		for j := range jobs {
			jobs[j] = domain.NewJob{ID: ids.NewJobID(), Kind: names[j%kinds], Queue: "default", Args: fmt.Appendf(nil, `{"n":%d,"pad":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"}`, j)}
		}
		if _, err := b.Store.Insert(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
	}
	out := fmt.Sprintf("%s kinds %d: insert %.1f (cpu %.1f)", server, kinds, float64(time.Since(t0).Microseconds())/n, (serverCPU(server)-c0)/n)
	for _, batch := range []int{100, 500} {
		var tc, ts time.Duration
		c0 := serverCPU(server)
		done := 0
		for range 8000 / batch {
			t0 := time.Now()
			got, err := b.Store.Claim(t.Context(), driven.ClaimRequest{Token: ids.NewToken(), Runner: "r", Lease: time.Minute, Queue: "default", Kinds: names, N: batch})
			if err != nil || len(got.Jobs) != batch {
				t.Fatal(err, len(got.Jobs))
			}
			t1 := time.Now()
			outs := make([]driven.Outcome, len(got.Jobs))
			for i, c := range got.Jobs {
				outs[i] = driven.Outcome{Ticket: c.Ticket(), To: domain.Done, Counts: true, Keep: time.Hour, Ran: time.Millisecond}
			}
			if _, err := b.Store.Settle(t.Context(), outs); err != nil {
				t.Fatal(err)
			}
			tc += t1.Sub(t0)
			ts += time.Since(t1)
			done += batch
		}
		out += fmt.Sprintf(" | n=%d claim %.1f settle %.1f (cpu %.1f)", batch, float64(tc.Microseconds())/float64(done), float64(ts.Microseconds())/float64(done), (serverCPU(server)-c0)/float64(done))
	}
	var t1 time.Duration
	for range 300 {
		t0 := time.Now()
		if _, err := b.Store.Insert(t.Context(), []domain.NewJob{{ID: ids.NewJobID(), Kind: names[0], Queue: "default", Args: []byte(`{"n":1}`)}}); err != nil {
			t.Fatal(err)
		}
		t1 += time.Since(t0)
	}
	fmt.Println(out, "| single insert us", t1.Microseconds()/300)
}
