package memstore

import (
	"errors"
	"testing"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// begin opens a transaction with an inserter in it.
func (b *bench) begin() (*Tx, driven.Inserter) {
	b.Helper()
	tx, err := Begin(b.backend)
	if err != nil {
		b.Fatal(err)
	}
	in, err := b.backend.Tx.Bind(tx)
	if err != nil {
		b.Fatal(err)
	}
	return tx, in
}

func (b *bench) unique(key string, or domain.OnConflict) domain.NewJob {
	job := b.job()
	job.Unique = &domain.Unique{Key: key, OnConflict: or}
	return job
}

func TestHostTxCommits(t *testing.T) {
	b := open(t)
	tx, in := b.begin()
	job, other := b.unique("u", domain.Error), b.unique("u", domain.Skip)
	for _, jobs := range [][]domain.NewJob{{job}, {other}, {job}} { // the holder is the first, also inside
		if got, err := in.Insert(t.Context(), jobs); err != nil || got[0].ID != job.ID {
			t.Fatal(got, err)
		}
	}
	if _, err := b.Job(t.Context(), job.ID, ""); domain.CodeOf(err) != domain.NotFound {
		t.Fatal("seen before the commit", err)
	}
	if n := len(b.claim(10).Jobs); n != 0 {
		t.Fatal("claimed before the commit", n)
	}
	for name, rival := range map[string]domain.NewJob{"key": b.unique("u", domain.Skip), "id": job} {
		if _, err := b.Insert(t.Context(), []domain.NewJob{rival}); domain.CodeOf(err) != domain.Contended {
			t.Fatalf("a rival for the %s got %v", name, err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := len(b.claim(10).Jobs); n != 1 {
		t.Fatal("claimed after the commit", n)
	}
	if _, err := in.Insert(t.Context(), []domain.NewJob{b.job()}); domain.CodeOf(err) != domain.Invalid {
		t.Fatal("an ended transaction took a row", err)
	}
	if err := tx.Commit(); domain.CodeOf(err) != domain.Invalid {
		t.Fatal("a second commit", err)
	}
	if err := tx.Rollback(); err != nil || b.get(job.ID).State != domain.Running {
		t.Fatal("a late rollback", err)
	}
}

func TestHostTxRollsBack(t *testing.T) {
	b := open(t)
	tx, in := b.begin()
	kept := b.unique("kept", domain.Skip)
	if _, err := in.Insert(t.Context(), []domain.NewJob{kept}); err != nil {
		t.Fatal(err)
	}
	fresh, refused := b.unique("fresh", domain.Skip), b.unique("kept", domain.Error)
	_, err := in.Insert(t.Context(), []domain.NewJob{fresh, refused})
	if fault := (*domain.Fault)(nil); !errors.As(err, &fault) || fault.Code != domain.Conflict || fault.Subject != kept.ID.String() {
		t.Fatal(err)
	}
	b.add(b.unique("fresh", domain.Error)) // the refused call left nothing behind
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	b.add(kept) // neither id nor key is held any more
	if len(b.rows) != 2 {
		t.Fatalf("%d rows", len(b.rows))
	}
}

func TestRetryWaitsForAnOpenTransaction(t *testing.T) {
	b := open(t)
	claimed := b.running(func(n *domain.NewJob) { n.Unique = &domain.Unique{Key: "u"} })
	b.settle1(driven.Outcome{Ticket: claimed.Ticket(), To: domain.Dead, Keep: -1})
	tx, in := b.begin()
	defer func() { _ = tx.Rollback() }()
	if _, err := in.Insert(t.Context(), []domain.NewJob{b.unique("u", domain.Skip)}); err != nil {
		t.Fatal(err)
	}
	retry := driven.EditRequest{IDs: []domain.JobID{claimed.Job.ID}}
	if edited, err := b.Retry(t.Context(), retry); err != nil || domain.CodeOf(edited[0].Err) != domain.Contended {
		t.Fatal(edited, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if edited, err := b.Retry(t.Context(), retry); err != nil || edited[0].Err != nil {
		t.Fatal(edited, err)
	}
}

type foreignTx struct{}

func (foreignTx) HostTx() string { return "foreign" }

func TestForeignHandlesAreRefused(t *testing.T) {
	b, other := open(t), open(t)
	theirs, err := Begin(other.backend)
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]driven.HostTx{
		"another adapter": foreignTx{}, "another store": theirs, "nothing": nil, "a nil transaction": (*Tx)(nil),
	} {
		if in, err := b.backend.Tx.Bind(h); in != nil || domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%s: %v %v", name, in, err)
		}
	}
	if _, err := Begin(driven.Backend{Name: "sqlite"}); domain.CodeOf(err) != domain.Invalid {
		t.Errorf("a transaction on another backend: %v", err)
	}
}
