package system

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

func TestJobIDsRiseAndAreValid(t *testing.T) {
	made := IDs()
	last := domain.JobID{}
	for range 20_000 { // many within one millisecond
		id := made.NewJobID()
		if id.Compare(last) <= 0 {
			t.Fatalf("%v was made after %v", id, last)
		}
		last = id
	}
	job := domain.NewJob{ID: last, Kind: "k", Queue: "q", Args: []byte("{}")}
	if err := job.Validate(); err != nil {
		t.Fatal(err)
	}
	if age := Clock().Now().Sub(last.Time()); age < -1e9 || age > 60e9 {
		t.Fatalf("the id says it was made %v ago", age)
	}
}

func TestIDsAreDistinctAcrossGoroutines(t *testing.T) {
	const each = 2_000
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		jobs   = map[domain.JobID]bool{}
		tokens = map[domain.Token]bool{}
	)
	for range 8 {
		wg.Go(func() {
			made := IDs()
			for range each {
				id, token := made.NewJobID(), made.NewToken()
				mu.Lock()
				jobs[id], tokens[token] = true, true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(jobs) != 8*each || len(tokens) != 8*each || tokens[domain.Token{}] {
		t.Fatalf("%d distinct ids and %d distinct tokens of %d", len(jobs), len(tokens), 8*each)
	}
}

func TestRunnerIDs(t *testing.T) {
	for name, host := range map[string]string{
		"plain": "web-1", "longest host name": strings.Repeat("h", 253), "wide runes": strings.Repeat("é", 200),
		"bad bytes": "a\x00b\xffc",
	} {
		t.Run(name, func(t *testing.T) {
			made := ids{host: host, pid: 4321}
			id, other := made.NewRunnerID(), made.NewRunnerID()
			if err := domain.ValidateName("runner", id, domain.MaxRunner); err != nil {
				t.Fatal(err)
			}
			if id == other {
				t.Fatalf("two starts got the name %q", id)
			}
			if !strings.Contains(id, "-4321-") || id[:1] != host[:1] && name != "wide runes" {
				t.Fatalf("%q names neither host nor process", id)
			}
		})
	}
	if id := IDs().NewRunnerID(); !strings.Contains(id, "-"+strconv.Itoa(os.Getpid())+"-") {
		t.Fatalf("%q does not name this process", id)
	}
}
