package enqueue_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// fake is store, transaction binder, ids, clock, notifier and observer in one.
type fake struct {
	mu     sync.Mutex
	rows   []domain.NewJob
	calls  int
	exists map[string]domain.JobID // by unique key
	moved  *driven.Inserted        // the answer for a held key; nil: Existing
	turns  []string                // keys that were woken
	onWake error
	err    error
	made   byte
	woken  []string
	wokenA []time.Duration // since start
	start  time.Time
	events []domain.Event
}

func (f *fake) Insert(_ context.Context, rows []domain.NewJob) ([]driven.Inserted, error) {
	f.calls++
	if f.err != nil {
		return nil, f.err
	}
	done := make([]driven.Inserted, len(rows))
	for i, row := range rows {
		done[i] = driven.Inserted{ID: row.ID}
		if row.Unique != nil {
			if holder, ok := f.exists[row.Unique.Key]; ok {
				done[i] = driven.Inserted{ID: holder, Result: domain.Existing}
				if f.moved != nil {
					done[i] = *f.moved
				}
				continue
			}
		}
		f.rows = append(f.rows, row)
	}
	return done, nil
}

func (f *fake) Bind(tx driven.HostTx) (driven.Inserter, error) {
	if tx.HostTx() != "fake" {
		return nil, &domain.Fault{Code: domain.Invalid, Op: "bind", Hint: "foreign"}
	}
	return f, nil
}

func (f *fake) Wake(_ context.Context, keys []string) (driven.Woken, error) {
	f.turns = append(f.turns, keys...)
	return driven.Woken{Jobs: 1, Queues: []string{"next"}}, f.onWake
}

func (f *fake) NewBatchID() domain.BatchID { return domain.BatchID(f.NewJobID()) }

func (f *fake) NewJobID() domain.JobID {
	f.made++
	return domain.JobID{0: 1, 6: 0x70, 8: 0x80, 15: f.made}
}
func (f *fake) NewToken() domain.Token { return domain.Token{1} }
func (f *fake) NewRunnerID() string    { return "r" }
func (f *fake) Now() time.Time         { return time.Now() }

func (f *fake) Notify(queues ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range queues {
		f.woken = append(f.woken, q)
		f.wokenA = append(f.wokenA, time.Since(f.start))
	}
}
func (f *fake) Listen(ctx context.Context, _ func(string)) error { <-ctx.Done(); return ctx.Err() }
func (f *fake) Observe(e domain.Event)                           { f.events = append(f.events, e) }

type tx string

func (t tx) HostTx() string { return string(t) }

type listTx []int // cannot be compared

func (listTx) HostTx() string { return "fake" }

func client(f *fake, r *work.Registry) *enqueue.Client {
	return enqueue.New(enqueue.Config{Store: f, Tx: f, IDs: f, Clock: f, Turns: f, Observer: f, Wake: f, Registry: r})
}

type hello struct {
	Name string  `json:"name"`
	F    float64 `json:"f,omitempty"`
}

func (hello) Kind() string { return "hello" }

type choosy struct{ N int64 }

func (choosy) Kind() string { return "choosy" }
func (choosy) EnqueueOptions() []enqueue.Option {
	return []enqueue.Option{
		enqueue.Queue("slow"), enqueue.MaxAttempts(3), enqueue.After(time.Minute), enqueue.Timeout(time.Second),
		enqueue.Tags("a"), enqueue.Keep(domain.Retention{Done: time.Hour, Dead: time.Hour}),
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code domain.Code) {
	t.Helper()
	if domain.CodeOf(err) != code {
		t.Fatalf("code %q, want %q: %v", domain.CodeOf(err), code, err)
	}
}
