package memstore

import (
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// TestOutcomes is the table of what a settlement does to a running row.
func TestOutcomes(t *testing.T) {
	cases := map[string]struct {
		outcome driven.Outcome
		dropped bool
		want    domain.State
		see     func(domain.Job) bool
	}{
		"done": {
			driven.Outcome{To: domain.Done, Counts: true, Error: "old", Result: []byte("1"), Keep: time.Hour, Ran: time.Second},
			false, domain.Done,
			func(j domain.Job) bool {
				return j.Attempts == 1 && j.Error == "" && string(j.Result) == "1" && j.FinishedAt.Equal(start) && j.Ran == time.Second && len(j.Args) > 0
			},
		},
		"done, args forgotten": {
			driven.Outcome{To: domain.Done, ForgetArgs: true},
			false, domain.Done,
			func(j domain.Job) bool { return j.Forgotten && len(j.Args) == 0 },
		},
		"dead keeps its args": {
			driven.Outcome{To: domain.Dead, Counts: true, Error: "e", ForgetArgs: true},
			false, domain.Dead,
			func(j domain.Job) bool { return !j.Forgotten && len(j.Args) > 0 && j.Error == "e" },
		},
		"cancelled": {
			driven.Outcome{To: domain.Cancelled, Error: "e"},
			false, domain.Cancelled,
			func(j domain.Job) bool { return j.Attempts == 0 && j.FinishedAt.Equal(start) },
		},
		"retried": {
			driven.Outcome{To: domain.Scheduled, Counts: true, After: 1500 * time.Microsecond, Error: "e"},
			false, domain.Scheduled,
			func(j domain.Job) bool {
				return j.Attempts == 1 && j.RunAt.Equal(start.Add(time.Millisecond)) && j.FinishedAt.IsZero()
			},
		},
		"snoozed": {
			driven.Outcome{To: domain.Scheduled, Snoozed: true, After: time.Second},
			false, domain.Scheduled,
			func(j domain.Job) bool {
				return j.Attempts == 0 && j.Snoozes == 1 && j.RunAt.Equal(start.Add(time.Second))
			},
		},
		"released": {
			driven.Outcome{To: domain.Ready},
			false, domain.Ready,
			func(j domain.Job) bool { return j.Attempts == 0 && j.RunAt.Equal(start) },
		},
		"illegal: running":        {driven.Outcome{To: domain.Running}, true, domain.Running, nil},
		"illegal: blocked":        {driven.Outcome{To: domain.Blocked}, true, domain.Running, nil},
		"illegal: no known state": {driven.Outcome{To: 99}, true, domain.Running, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			claimed := b.running(nil)
			c.outcome.Ticket = claimed.Ticket()
			if answer := b.settle1(c.outcome); (len(answer.Dropped) == 1) != c.dropped {
				t.Fatalf("dropped %v", answer.Dropped)
			}
			job := b.get(claimed.Job.ID)
			if job.State != c.want || c.see != nil && !c.see(job) {
				t.Fatalf("%+v", job)
			}
			if held := job.State == domain.Running; job.Runner != "r1" || held != !job.LeaseUntil.IsZero() {
				t.Fatalf("%v with runner %q and lease until %v", job.State, job.Runner, job.LeaseUntil)
			}
		})
	}
}

func TestTokensFence(t *testing.T) {
	b := open(t)
	first := b.running(nil)
	done := driven.Outcome{Ticket: first.Ticket(), To: domain.Done, Counts: true, Keep: -1}

	b.pass(2 * time.Minute)
	sweep := driven.RecoverRequest{Limit: 10, Stalls: domain.StallPolicy{Base: time.Second, Cap: time.Second, Max: 3}}
	if own, err := b.Recover(t.Context(), driven.RecoverRequest{Limit: 10, Stalls: sweep.Stalls, Except: "r1"}); err != nil || len(own.Jobs) != 0 {
		t.Fatal("a runner put back its own claim", own, err)
	}
	got, err := b.Recover(t.Context(), sweep)
	want := driven.Recovery{ID: first.Job.ID, Kind: "k", Queue: "q", Runner: "r1", To: domain.Scheduled, Stalls: 1, After: time.Second}
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0] != want {
		t.Fatal(got, err)
	}
	if job := b.get(first.Job.ID); !strings.Contains(string(job.History), "stalled") || job.Stalls != 1 || job.Attempts != 0 {
		t.Fatalf("%+v", job)
	}
	if len(b.settle1(done).Dropped) != 1 {
		t.Fatal("the stalled claim's outcome was taken")
	}

	b.pass(time.Second)
	second := b.claim(1).Jobs[0]
	for _, stale := range []domain.Ticket{first.Ticket(), {ID: first.Job.ID}} {
		if len(b.settle1(driven.Outcome{Ticket: stale, To: domain.Dead}).Dropped) != 1 {
			t.Fatal("a stale ticket settled the job")
		}
		if lost, _ := b.Renew(t.Context(), driven.RenewRequest{Tickets: []driven.Renewal{{Ticket: stale}}, Lease: time.Hour}); len(lost.Lost) != 1 {
			t.Fatal("a stale ticket renewed the lease")
		}
	}
	done.Ticket = second.Ticket()
	for range 2 { // the repeat is a success and writes nothing
		if len(b.settle1(done).Dropped) != 0 {
			t.Fatal("the holder's outcome was dropped")
		}
	}
	if job := b.get(first.Job.ID); job.State != domain.Done || job.Attempts != 1 || job.Stalls != 0 {
		t.Fatalf("%+v", job)
	}
	if len(b.settle1(driven.Outcome{Ticket: domain.Ticket{ID: first.Job.ID}, To: domain.Dead}).Dropped) != 1 {
		t.Fatal("a ticket without a token settled a terminal job")
	}
}

func TestRecoverBuriesAndFreesTheKey(t *testing.T) {
	b := open(t)
	claimed := b.running(func(n *domain.NewJob) { n.Unique = &domain.Unique{Key: "u"} })
	b.pass(time.Minute)
	got, err := b.Recover(t.Context(), driven.RecoverRequest{Limit: 1, KeepDead: time.Second})
	if err != nil || len(got.Jobs) != 1 || got.Jobs[0].To != domain.Dead || !got.More {
		t.Fatal(got, err)
	}
	again := b.job()
	again.Unique = &domain.Unique{Key: "u", OnConflict: domain.Error}
	b.add(again)
	edited, err := b.Retry(t.Context(), driven.EditRequest{IDs: []domain.JobID{claimed.Job.ID}})
	if err != nil || domain.CodeOf(edited[0].Err) != domain.Conflict {
		t.Fatal(edited, err)
	}
	if !strings.Contains(edited[0].Err.Error(), again.ID.String()) {
		t.Fatalf("%v does not name the holder %v", edited[0].Err, again.ID)
	}
	b.pass(time.Second)
	if got, err := b.Prune(t.Context(), driven.PruneRequest{Limit: 10}); got.Removed != 1 || err != nil {
		t.Fatal(got, err)
	}
}

// TestEdits is the table of what an operator may do in which state.
func TestEdits(t *testing.T) {
	into := map[domain.State]func(*bench) domain.JobID{
		domain.Ready: func(b *bench) domain.JobID { j := b.job(); b.add(j); return j.ID },
		domain.Scheduled: func(b *bench) domain.JobID {
			j := b.job()
			j.Due.After = time.Hour
			b.add(j)
			return j.ID
		},
		domain.Running: func(b *bench) domain.JobID { return b.running(nil).Job.ID },
	}
	for _, state := range []domain.State{domain.Done, domain.Dead, domain.Cancelled} {
		into[state] = func(b *bench) domain.JobID {
			c := b.running(nil)
			b.settle1(driven.Outcome{Ticket: c.Ticket(), To: state, Counts: true, Keep: -1})
			return c.Job.ID
		}
	}
	acts := map[string]struct {
		edit   func(*bench, driven.EditRequest) ([]domain.Edited, error)
		allows func(domain.State) bool
		to     domain.State
	}{
		"retry": {
			func(b *bench, r driven.EditRequest) ([]domain.Edited, error) { return b.Retry(b.Context(), r) },
			func(s domain.State) bool { return s != domain.Running }, domain.Scheduled,
		},
		"reschedule": {
			func(b *bench, r driven.EditRequest) ([]domain.Edited, error) { return b.Reschedule(b.Context(), r) },
			domain.State.Pending, domain.Scheduled,
		},
		"cancel": {
			func(b *bench, r driven.EditRequest) ([]domain.Edited, error) { return b.Cancel(b.Context(), r) },
			func(s domain.State) bool { return s.Pending() || s == domain.Running || s == domain.Cancelled }, domain.Cancelled,
		},
	}
	for name, act := range acts {
		for state, bring := range into {
			t.Run(name+"/"+state.String(), func(t *testing.T) {
				b := open(t)
				id := bring(b)
				missing := b.ids.NewJobID()
				edited, err := act.edit(b, driven.EditRequest{IDs: []domain.JobID{missing, id}, Due: domain.Due{After: time.Minute}})
				if err != nil || len(edited) != 2 || edited[0].ID != missing || edited[1].ID != id || domain.CodeOf(edited[0].Err) != domain.NotFound {
					t.Fatal(edited, err)
				}
				want, code := act.to, domain.Code("")
				if !act.allows(state) {
					want, code = state, domain.Conflict
				}
				job := b.get(id)
				if domain.CodeOf(edited[1].Err) != code || job.State != want {
					t.Fatalf("%v; the job is %v, want %v", edited[1].Err, job.State, want)
				}
				if state == domain.Running && want == state && !strings.Contains(edited[1].Err.Error(), `"r1"`) {
					t.Fatalf("%v does not name the runner", edited[1].Err)
				}
				if want == domain.Scheduled && (!job.RunAt.Equal(start.Add(time.Minute)) || name == "retry" && (job.Attempts != 0 || !job.FinishedAt.IsZero())) {
					t.Fatalf("%+v", job)
				}
			})
		}
	}
}

func TestClaimOrderNextAndMore(t *testing.T) {
	b := open(t)
	var want []domain.JobID
	add := func(kind string, priority int, due domain.Due) domain.JobID {
		job := b.job()
		job.Kind, job.Priority, job.Due = kind, priority, due
		b.add(job)
		return job.ID
	}
	last := add("a", 1, domain.Due{})
	late := add("b", 0, domain.Due{})
	past := add("a", 0, domain.Due{At: start.Add(-time.Hour)})
	add("foreign", -5, domain.Due{})
	first := add("b", -1, domain.Due{After: 30 * time.Second})
	want = append(want, past, late, last)

	claims := b.claim(2, "b", "a", "b")
	if len(claims.Jobs) != 2 || claims.Jobs[0].Job.ID != want[0] || claims.Jobs[1].Job.ID != want[1] || !claims.More || claims.Next != 30*time.Second {
		t.Fatalf("%+v", claims)
	}
	b.pass(30 * time.Second)
	claims = b.claim(10, "a", "b")
	if len(claims.Jobs) != 2 || claims.Jobs[0].Job.ID != first || claims.Jobs[1].Job.ID != last || claims.More || claims.Next != driven.NoNext {
		t.Fatalf("%+v", claims)
	}
	queues, err := b.Queues(t.Context(), "", 10)
	if err != nil || len(queues) != 1 || queues[0] != "q" {
		t.Fatal(queues, err)
	}
	if queues, _ = b.Queues(t.Context(), "q", 10); len(queues) != 0 {
		t.Fatal(queues)
	}
}
