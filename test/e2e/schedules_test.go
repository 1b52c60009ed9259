package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
)

// ticks are the moments of a schedule's jobs, which their ids hold.
func (b *box) ticks(queue string) (all []time.Time) {
	for _, j := range b.jobs("--queue", queue) {
		id, err := domain.ParseJobID(j.ID)
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, id.Time())
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// evenly judges that ticks come at every interval once. Where some were late, one stands
// for those before it.
func evenly(t *testing.T, name string, all []time.Time, every time.Duration) {
	t.Helper()
	for i, at := range all {
		if at.UnixMilli()%every.Milliseconds() != 0 {
			t.Errorf("%s: a job of %v, which is no tick", name, at)
		}
		if i > 0 && at.Sub(all[i-1]) < every {
			t.Errorf("%s: ticks of %v and %v", name, all[i-1], at)
		}
	}
}

type scheduled struct {
	Name      string
	Namespace string
	Broken    string
	Skipped   int
	Handled   *bool
}

// TestSchedulesOfManyWorkers: four processes declare the same, one more is an
// operator's, one of the four is killed: each tick has one job.
func TestSchedulesOfManyWorkers(t *testing.T) {
	onEveryStore(t, testSchedules)
}

func testSchedules(t *testing.T, b *box) {
	srv := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) int { return say(w, 200) })
	file := b.file("namespace: shop", "schedules:",
		fmt.Sprintf(`  - {name: often, every: 1s, kind: http, queue: often, args: {url: "%s/often"}}`, srv.URL),
		fmt.Sprintf(`  - {name: even, cron: "*/2 * * * * *", zone: Europe/Vienna, kind: http, queue: even, args: {url: "%s/even"}}`, srv.URL),
		`  - {name: nobody, every: 1s, kind: nobody}`)
	var crew []*process
	for range 4 {
		crew = append(crew, b.worker("--config", file))
	}
	b.ok("schedules", "add", "own", "http", `{"url":"`+srv.URL+`/own"}`, "--every", "1s", "--queue", "own", "--missed", "all")
	eventually(t, "each has some ticks", func() bool { return len(b.ticks("often")) > 3 && len(b.ticks("even")) > 1 && len(b.ticks("own")) > 2 })
	crew[0].signal(syscall.SIGKILL)
	crew[0].exit()
	before := len(b.ticks("own"))
	eventually(t, "the others go on", func() bool { return len(b.ticks("own")) > before+1 })
	b.ok("schedules", "pause", "often")
	all := read[[]scheduled](t, b.ok("schedules", "list", "--json"))
	if len(all) != 3 || all[0].Name != "even" || all[0].Namespace != "shop" || all[2].Name != "own" || all[2].Namespace != "" {
		t.Errorf("listed: %+v", all)
	}
	for _, s := range all {
		if s.Broken != "" || s.Handled == nil || !*s.Handled {
			t.Errorf("%+v", s)
		}
	}
	b.ok("schedules", "delete", "own")
	b.ok("schedules", "delete", "even")
	for _, p := range crew[1:] {
		p.logged("nobody")
		p.stop()
	}
	for name, every := range map[string]time.Duration{"often": time.Second, "even": 2 * time.Second, "own": time.Second} {
		evenly(t, name, b.ticks(name), every)
	}
	own := b.ticks("own") // whose missed ticks are made up for, at most ten
	for i := 1; i < len(own); i++ {
		if gap := own[i].Sub(own[i-1]); gap > time.Second && all[2].Skipped == 0 {
			t.Errorf("no job between the ticks of %v and %v", own[i-1], own[i])
		}
	}
	paused := len(b.ticks("often"))
	b.ok("schedules", "run", "often")
	if n := len(b.ticks("often")); n != paused+1 {
		t.Errorf("%d jobs, %d after another run", paused, n)
	}
	b.fails(3, "schedules", "run", "own")
	b.fails(4, "schedules", "add", "often", "http", "--every", "1s")
}
