package e2e

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/rowlock/rowlock/bootstrap/rowlock"
)

// pollVar is the poll interval of a crew.
const pollVar = "ROWLOCK_E2E_POLL"

const listeners = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'"

// TestWakeUpsAcrossProcesses: one process enqueues a hundred jobs a second, another one
// works, which polls seldom and is woken by NOTIFY. Its listener's session is ended in
// the middle: no job waits longer than one poll for that.
func TestWakeUpsAcrossProcesses(t *testing.T) {
	on(t, slices.DeleteFunc(stores(), func(s store) bool { return s.name != "postgres" }), testWakeUpsAcrossProcesses)
}

func testWakeUpsAcrossProcesses(t *testing.T, b *box) {
	const jobs, gap, poll, slack = 400, 10 * time.Millisecond, 3 * time.Second, 2 * time.Second
	b.ok("migrate", "up")
	db, err := sql.Open("pgx", b.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	listening := func() bool {
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) "+listeners).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 1
	}
	q, err := rowlock.Open(t.Context(), b.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	g := newGauge(t)
	p := b.with(pollVar+"="+poll.String()).hire(g, 1, longLease)
	eventually(t, "it listens", listening)

	sent := make(map[string]time.Time, jobs)
	pace := time.NewTicker(gap)
	defer pace.Stop()
	var killed time.Time
	for i := range jobs {
		<-pace.C
		if i == jobs/2 {
			killed = time.Now()
			if _, err := db.ExecContext(t.Context(), "SELECT pg_terminate_backend(pid) "+listeners); err != nil {
				t.Fatal(err)
			}
		}
		at := time.Now()
		job, _, err := q.Enqueue(t.Context(), Keyed{Limited{Key: "k"}})
		if err != nil {
			t.Fatal(err)
		}
		sent[job.ID.String()] = at
	}
	eventually(t, "every job has run", func() bool { return len(g.runs()) == jobs })
	eventually(t, "it listens again", listening)
	p.stop()
	var before, after []time.Duration
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range g.visits {
		waited := v.At.Sub(sent[v.Job])
		if sent[v.Job].Before(killed) {
			before = append(before, waited)
		} else {
			after = append(after, waited)
		}
		if waited > poll+slack {
			t.Errorf("job %s waited for %v, longer than a poll of %v", v.Job, waited, poll)
		}
	}
	t.Logf("from enqueue to start, at %v: %s; after the listener's end: %s", gap, spread(before), spread(after))
}

func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	at := func(share int) string { return all[(len(all)-1)*share/100].Round(10 * time.Microsecond).String() }
	return "p50 " + at(50) + ", p99 " + at(99) + ", most " + at(100)
}
