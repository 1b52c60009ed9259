package bench

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// besideRounds is how often both are measured.
const besideRounds = 7

// Beside runs b.N jobs that do nothing in two stores in turn: in one they are alone, in
// the other beside jobs that must wait: twice as many behind one full key, and ten
// behind each of b.N/5 busy keys. With -benchtime 50000x these are 100,000 and 10,000
// keys. The ratios, beside by alone, are those of the round in the middle, for a machine
// with others on it differs by a fifth from one drain to the next: cpu-ratio of this
// process, machine-ratio of all, hence with a database server's time in it, but for
// what the server still does about the rows that were made: a drain starts when the
// machine rests.
func Beside(b *testing.B, open Factory) {
	kits := [2]Kit{open(b), open(b)}
	crowd := crowd{b, kits[1]}
	crowd.limit(2 * b.N)
	crowd.turns(b.N/5+1, 10)
	b.ResetTimer()
	var process, whole [2][]float64
	for round := range besideRounds {
		for turn := range kits {
			with := (round + turn) % 2
			used, all := free(b, kits[with])
			process[with], whole[with] = append(process[with], used), append(whole[with], all)
		}
	}
	b.ReportMetric(median(process[0]), "alone-cpu-us/job")
	b.ReportMetric(median(process[1]), "beside-cpu-us/job")
	b.ReportMetric(medianRatio(process), "cpu-ratio")
	b.ReportMetric(medianRatio(whole), "machine-ratio")
}

// free drains b.N new jobs and says what one took, in microseconds: of this process
// and of the machine.
func free(b *testing.B, kit Kit) (process, whole float64) {
	b.StopTimer()
	if err := fill(b.Context(), client(kit), b.N); err != nil {
		b.Fatal(err)
	}
	if kit.Tidy != nil {
		kit.Tidy()
	}
	if b.N >= chunk { // else it is a trial
		rest(b)
	}
	used, all := cpu(), machine()
	b.StartTimer()
	drain(b, kit, b.N)
	b.StopTimer()
	per := float64(time.Microsecond) * float64(b.N)
	return float64(cpu()-used) / per, float64(machine()-all) / per
}

func median(of []float64) float64 { return slices.Sorted(slices.Values(of))[len(of)/2] }

// medianRatio is the second by the first, of the pair in the middle.
func medianRatio(pairs [2][]float64) float64 {
	ratios := make([]float64, len(pairs[0]))
	for i := range ratios {
		ratios[i] = pairs[1][i] / pairs[0][i]
	}
	return median(ratios)
}

// rest waits until the machine does next to nothing for a second, for a minute at most:
// where others keep it busy machine-us/job says nothing anyway.
func rest(b *testing.B) {
	for range 60 {
		before := machine()
		select {
		case <-time.After(time.Second):
		case <-b.Context().Done():
			return
		}
		if machine()-before < 100*time.Millisecond {
			return
		}
	}
	b.Log("THE MACHINE DOES NOT REST: machine-us/job has the work of others in it")
}

// crowd is jobs that wait.
type crowd struct {
	b   *testing.B
	kit Kit
}

// held is a kind whose jobs wait: no runner of a benchmark handles it.
const held = "bench/held"

// limit parks n jobs behind a limit of one.
func (c crowd) limit(n int) {
	d := domain.Declaration{Kind: held, Sort: domain.BoundLimit, Group: held, N: 1}
	if err := c.kit.Backend.Store.Declare(c.b.Context(), []string{held}, []domain.Declaration{d}); err != nil {
		c.b.Fatal(err)
	}
	c.park(n+1, func(int, *domain.NewJob) {}, driven.Want{Limit: true})
}

// turns parks jobs behind the first of each of so many keys.
func (c crowd) turns(keys, waiters int) {
	c.park(keys*(waiters+1), func(i int, n *domain.NewJob) {
		n.Turn, n.Keys = domain.TurnMutex, []string{"key-" + strconv.Itoa(i%keys)}
	}, driven.Want{Turn: true})
}

// park inserts jobs and lets all of them ask for their bounds.
func (c crowd) park(n int, shape func(int, *domain.NewJob), want driven.Want) {
	ctx, store := c.b.Context(), c.kit.Backend.Store
	for done := 0; done < n; {
		rows := make([]domain.NewJob, min(chunk, n-done))
		for i := range rows {
			rows[i] = domain.NewJob{ID: c.kit.IDs.NewJobID(), Kind: held, Queue: "default", Args: []byte("{}")}
			shape(done+i, &rows[i])
		}
		if _, err := store.Insert(ctx, rows); err != nil {
			c.b.Fatal(err)
		}
		done += len(rows)
	}
	for parked := 0; parked < n; {
		r := driven.ClaimRequest{Token: c.kit.IDs.NewToken(), Runner: "bench", Lease: 24 * time.Hour, Queue: "default", Kinds: []string{held}, N: 500}
		got, err := store.Claim(ctx, r)
		if err != nil || len(got.Jobs) == 0 {
			c.b.Fatalf("claimed %d of %d: %v", parked, n, err)
		}
		wants := make([]driven.Want, len(got.Jobs))
		for i := range got.Jobs {
			wants[i] = want
			wants[i].Ticket, wants[i].Kind = got.Jobs[i].Ticket(), held
		}
		if _, err := store.Admit(ctx, driven.AdmitRequest{Wants: wants}); err != nil {
			c.b.Fatal(err)
		}
		parked += len(got.Jobs)
	}
}
