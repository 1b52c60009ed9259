package mongostore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/adapters/driven/system"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/test/servers"
)

var ids = system.IDs()

func jobs(n int) []domain.NewJob {
	all := make([]domain.NewJob, n)
	for i := range all {
		all[i] = domain.NewJob{ID: ids.NewJobID(), Kind: "test/job", Queue: "default", Args: []byte(fmt.Sprint(i))}
	}
	return all
}

func claim(t testing.TB, s driven.Store, n int) driven.Claims {
	t.Helper()
	got, err := s.Claim(t.Context(), driven.ClaimRequest{
		Token: ids.NewToken(), Runner: "runner", Lease: time.Hour, Queue: "default", Kinds: []string{"test/job"}, N: n,
	})
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	return got
}

// Eight claimers of 500 each, all at once, on 2,000 jobs: each job once.
func TestEightClaimersTakeEachJobOnce(t *testing.T) {
	t.Parallel()
	cfg := mongostore.Config{URI: servers.Mongo(t)}
	all := jobs(2000)
	if _, err := opened(t, cfg).Store.Insert(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	times := map[domain.JobID]int{}
	var claimers sync.WaitGroup
	start := make(chan struct{})
	for range 8 {
		b := open(t, cfg)
		claimers.Go(func() {
			<-start
			for idle := 0; idle < 3; {
				got, err := b.Store.Claim(t.Context(), driven.ClaimRequest{
					Token: ids.NewToken(), Runner: "runner", Lease: time.Hour, Queue: "default", Kinds: []string{"test/job"}, N: 500,
				})
				if domain.CodeOf(err) == domain.Contended {
					continue
				}
				if err != nil || len(got.Jobs) > 500 {
					t.Errorf("%d jobs, %v", len(got.Jobs), err)
					return
				}
				mu.Lock()
				for _, j := range got.Jobs {
					times[j.Job.ID]++
				}
				mu.Unlock()
				if idle++; got.More || len(got.Jobs) > 0 {
					idle = 0
				}
			}
		})
	}
	close(start)
	claimers.Wait()
	for i := range all {
		if n := times[all[i].ID]; n != 1 {
			t.Fatalf("job %d was claimed %d times, want once", i, n)
		}
	}
}

// The largest job there may be, retried again and again with the longest errors,
// stays under 1 MiB: what grows is bounded.
func TestDocumentStaysUnderOneMiB(t *testing.T) {
	t.Parallel()
	uri := servers.Mongo(t)
	b := opened(t, mongostore.Config{URI: uri})
	n := jobs(1)
	n[0].Args = []byte(`"` + strings.Repeat("é", domain.MaxArgs/2-1) + `"`)
	n[0].Meta = []byte(`{"m":"` + strings.Repeat("m", domain.MaxMeta-8) + `"}`)
	for range domain.MaxTags {
		n[0].Tags = append(n[0].Tags, strings.Repeat("t", domain.MaxTag))
	}
	n[0].Unique = &domain.Unique{Key: strings.Repeat("k", domain.MaxKey)}
	if _, err := b.Store.Insert(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	collection := connect(t, uri).Database(database(t, uri)).Collection("rowlock_jobs")
	retries, settled := 60, 0
	if os.Getenv("ROWLOCK_STRESS") == "1" {
		retries = 10_000
	}
	for i := range retries {
		c := claim(t, b.Store, 1).Jobs
		if len(c) != 1 {
			t.Fatalf("retry %d: %d jobs were claimed", i, len(c))
		}
		worst := domain.Attempt{Err: errors.New(strings.Repeat("\x01", 16<<10)), Stack: strings.Repeat("😀", 8<<10), Runner: strings.Repeat("r", 300)}
		v := domain.Judge(&c[0].Job, worst, domain.Rule{Policy: domain.RetryPolicy{MaxAttempts: domain.MaxMaxAttempts + 1}})
		o := driven.Outcome{Ticket: c[0].Ticket(), To: domain.Ready, Counts: true, Error: v.Error, History: v.History}
		if got, err := b.Store.Settle(t.Context(), []driven.Outcome{o}); err != nil || len(got.Dropped) > 0 {
			t.Fatal(got, err)
		}
		if i == domain.MaxHistory+2 {
			settled = size(t, collection.FindOne(t.Context(), bson.D{}))
		}
	}
	last := size(t, collection.FindOne(t.Context(), bson.D{}))
	t.Logf("%d bytes after %d retries", last, retries)
	if last > 1<<20 || last > settled+64 { // ten notes say the number of their attempt
		t.Errorf("the document has %d bytes after %d retries, %d after the first %d", last, retries, settled, domain.MaxHistory+2)
	}
	buried(t, b.Store, collection)
}

// buried has the job die: what its death leaves to do is small, and the failure job
// that has its args is no larger than the largest there may be.
func buried(t *testing.T, s driven.Store, collection *mongo.Collection) {
	t.Helper()
	c := claim(t, s, 1).Jobs[0]
	made, err := domain.FailureJob(&c.Job, strings.Repeat("f", domain.MaxKind), c.Token, 61, 62, strings.Repeat("\"", domain.MaxMessage))
	if err != nil {
		t.Fatal(err)
	}
	o := driven.Outcome{Ticket: c.Ticket(), To: domain.Dead, Counts: true, Error: c.Job.Error, History: c.Job.History, Failure: &made}
	if got, err := s.Settle(t.Context(), []driven.Outcome{o}); err != nil || len(got.Dropped)+len(got.Refused) > 0 {
		t.Fatal(got, err)
	}
	for _, id := range []domain.JobID{c.Job.ID, made.ID} {
		if n := size(t, collection.FindOne(t.Context(), bson.D{{Key: "_id", Value: bson.Binary{Subtype: 4, Data: id[:]}}})); n > 1<<20 {
			t.Errorf("the document of %s has %d bytes", id, n)
		}
	}
}

func size(t *testing.T, found interface{ Raw() (bson.Raw, error) }) int {
	t.Helper()
	raw, err := found.Raw()
	if err != nil {
		t.Fatal(err)
	}
	return len(raw)
}

// What is empty is absent, ids are UUIDs, and the names are the SQL columns.
func TestDocument(t *testing.T) {
	t.Parallel()
	uri := servers.Mongo(t)
	b := opened(t, mongostore.Config{URI: uri})
	n := jobs(1)
	n[0].Unique = &domain.Unique{Key: "k"}
	if _, err := b.Store.Insert(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	collection := connect(t, uri).Database(database(t, uri)).Collection("rowlock_jobs")
	want := func(fields ...string) bson.M {
		t.Helper()
		var doc bson.M
		if err := collection.FindOne(t.Context(), bson.D{}).Decode(&doc); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for name, value := range doc {
			if got[name] = true; value == nil {
				t.Errorf("%s is null", name)
			}
		}
		for _, name := range fields {
			if !got[name] {
				t.Errorf("%s is absent", name)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("the document has %v, too", got)
		}
		return doc
	}
	always := []string{"_id", "state", "queue", "kind", "priority", "run_at", "due_at", "wake_at", "created_at", "args", "unique_key"}
	doc := want(append(always, "unique_lock")...)
	if id, ok := doc["_id"].(bson.Binary); !ok || id.Subtype != 4 || domain.JobID(id.Data) != n[0].ID {
		t.Errorf("the id is %v", doc["_id"])
	}
	c := claim(t, b.Store, 1).Jobs[0]
	want(append(always, "unique_lock", "token", "runner", "claimed_at")...)
	o := driven.Outcome{Ticket: c.Ticket(), To: domain.Done, Counts: true, Result: json.RawMessage(`1`), Keep: time.Hour}
	if _, err := b.Store.Settle(t.Context(), []driven.Outcome{o}); err != nil {
		t.Fatal(err)
	}
	want(append(always, "settled", "runner", "claimed_at", "finished_at", "attempts", "ran", "result")...)
}
