package memstore

import (
	"time"

	"github.com/rowlock/rowlock/domain"
)

// place puts a row where its state says.
func (s *store) place(r *row) {
	s.states[r.State].add(r)
	s.placeTurns(r)
	switch r.State {
	case domain.Blocked:
		addTo(s.blocked, r.BlockedOn, byTurn, r)
	case domain.Ready:
		s.waiting[r.Queue]++
		addTo(s.lines, line{r.Queue, r.Kind}, byTurn, r)
		if shares := s.shares[r.Queue]; shares != nil {
			addTo(shares, share{r.Tenant, r.Kind}, byTurn, r)
		}
	case domain.Scheduled:
		s.waiting[r.Queue]++
	}
}

// addTo puts a row into the index of that name, which is made where there is none.
func addTo[K comparable](all map[K]*index, name K, order func(a, b *row) int, r *row) {
	if all[name] == nil {
		all[name] = &index{order: order}
	}
	all[name].add(r)
}

// takeFrom undoes addTo.
func takeFrom[K comparable](all map[K]*index, name K, r *row) {
	if all[name].remove(r); all[name].size == 0 {
		delete(all, name)
	}
}

// lift takes a row from where its state says.
func (s *store) lift(r *row) {
	s.states[r.State].remove(r)
	s.liftTurns(r)
	switch r.State {
	case domain.Blocked:
		takeFrom(s.blocked, r.BlockedOn, r)
		return
	case domain.Ready:
		takeFrom(s.lines, line{r.Queue, r.Kind}, r)
		if shares := s.shares[r.Queue]; shares != nil {
			takeFrom(shares, share{r.Tenant, r.Kind}, r)
		}
	case domain.Scheduled:
	default:
		return
	}
	if s.waiting[r.Queue]--; s.waiting[r.Queue] == 0 {
		delete(s.waiting, r.Queue)
	}
}

// change is the one way to alter a row that is there for all.
func (s *store) change(r *row, how func()) {
	s.lift(r)
	how()
	if r.State != domain.Blocked {
		r.BlockedOn = ""
	}
	s.place(r)
}

// finish makes a row terminal inside a change. Its unique key frees here, unless it
// is that of a window.
func (s *store) finish(r *row, to domain.State, now time.Time, keep time.Duration) {
	r.unclaim()
	if !domain.KeptLock(r.lock) {
		s.unlock(r)
	}
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
