package runner

import (
	"sync"

	"github.com/rowlock/rowlock/domain"
)

const (
	finishBatch = 100    // batches in one call
	finishMost  = 10_000 // batches that may wait for a look; more are left to the sweep
)

// finisher looks whether batches are over once a member of theirs is, after that is
// written and apart from the writing: outcomes of jobs in no batch never meet it.
// While one call is in flight the next batches gather, each once. A call that fails
// is reported and left to the sweep, which does the same.
type finisher struct {
	session *session
	mu      sync.Mutex
	ids     map[domain.BatchID]struct{}
	busy    bool // a call is in flight
	within  deadline
	bell    chan struct{}
	closing chan struct{}
	ended   chan struct{}
}

func newFinisher(s *session) *finisher {
	return &finisher{
		session: s, ids: make(map[domain.BatchID]struct{}),
		bell: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
	}
}

// add names a batch of which a member ended.
func (f *finisher) add(id domain.BatchID) {
	f.mu.Lock()
	if len(f.ids) < finishMost {
		f.ids[id] = struct{}{}
	}
	f.mu.Unlock()
	ring(f.bell)
}

// idle says that no batch waits for a look.
func (f *finisher) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.busy && len(f.ids) == 0
}

// close waits until every batch was looked at, or the session's context ended.
func (f *finisher) close() {
	close(f.closing)
	<-f.ended
}

func (f *finisher) run() {
	defer close(f.ended)
	for {
		for ids := f.take(); len(ids) > 0; ids = f.take() {
			f.look(ids)
		}
		select {
		case <-f.bell:
		case <-f.session.ctx.Done():
			return
		case <-f.closing:
			if f.idle() {
				return
			}
		}
	}
}

// take gives some batches; whoever asks meanwhile learns that they are not looked at yet.
func (f *finisher) take() []domain.BatchID {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := make([]domain.BatchID, 0, min(len(f.ids), finishBatch))
	for id := range f.ids {
		if len(ids) == finishBatch {
			break
		}
		ids = append(ids, id)
		delete(f.ids, id)
	}
	f.busy = len(ids) > 0
	return ids
}

func (f *finisher) look(ids []domain.BatchID) {
	s := f.session
	done, err := inTime(&f.within, s, s.cfg.Lease, s.deps.Store.FinishBatches, ids)
	if err != nil {
		s.fail("finish batches", "", err)
	}
	for i := range done {
		for _, e := range done[i].Events() {
			s.observe(e)
		}
		if done[i].Queue != "" {
			s.rouseQueue(done[i].Queue)
		}
	}
	f.mu.Lock()
	f.busy = false
	f.mu.Unlock()
	ring(s.changed)
}
