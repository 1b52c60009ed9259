package memstore

import (
	"time"

	"github.com/rowlock/rowlock/domain"
)

// place puts a row where its state says.
func (s *store) place(r *row) {
	s.states[r.State].add(r)
	if r.State != domain.Ready && r.State != domain.Scheduled {
		return
	}
	s.waiting[r.Queue]++
	if r.State != domain.Ready {
		return
	}
	at := line{r.Queue, r.Kind}
	if s.lines[at] == nil {
		s.lines[at] = &index{order: byTurn}
	}
	s.lines[at].add(r)
}

// lift takes a row from where its state says.
func (s *store) lift(r *row) {
	s.states[r.State].remove(r)
	if r.State != domain.Ready && r.State != domain.Scheduled {
		return
	}
	if s.waiting[r.Queue]--; s.waiting[r.Queue] == 0 {
		delete(s.waiting, r.Queue)
	}
	if r.State != domain.Ready {
		return
	}
	at := line{r.Queue, r.Kind}
	if s.lines[at].remove(r); s.lines[at].size == 0 {
		delete(s.lines, at)
	}
}

// change is the one way to alter a row that is there for all.
func (s *store) change(r *row, how func()) {
	s.lift(r)
	how()
	s.place(r)
}

// finish makes a row terminal inside a change. Its unique key frees here.
func (s *store) finish(r *row, to domain.State, now time.Time, keep time.Duration) {
	r.unclaim()
	s.unlock(r)
	r.State, r.FinishedAt, r.expires = to, now, forever
	if keep >= 0 {
		r.expires = cut(now.Add(keep))
	}
}

// remove forgets a row that is there for all.
func (s *store) remove(r *row) {
	s.lift(r)
	s.ids.remove(r)
	s.drop(r)
}

// drop forgets a row that no index has.
func (s *store) drop(r *row) {
	s.unlock(r)
	delete(s.rows, r.ID)
}

func (s *store) unlock(r *row) {
	if r.lock != "" && s.locks[r.lock] == r {
		delete(s.locks, r.lock)
	}
}

// find is a row that is there for all, of the tenant if one is given; else nil.
func (s *store) find(id domain.JobID, tenant string) *row {
	r := s.rows[id]
	if r == nil || r.tx != nil || (tenant != "" && r.Tenant != tenant) {
		return nil
	}
	return r
}
