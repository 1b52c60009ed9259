package runner

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// admitMost bounds one admission, hence one transaction.
const admitMost = 200

// admit asks the store which of the claimed jobs may start, and feeds the workers
// with those. The others are parked: out of the runner's hands, until somebody
// frees what they lack. Where the store gives no answer in time, or refuses, the
// claims are given back.
func (l *lane) admit(batch []*attempt) error {
	for chunk := range slices.Chunk(batch, admitMost) {
		if err := l.admitChunk(chunk); err != nil {
			at := slices.Index(batch, chunk[0])
			for _, a := range batch[at:] {
				l.refuse(a)
			}
			return err
		}
	}
	return nil
}

func (l *lane) admitChunk(chunk []*attempt) error {
	s := l.session
	if !s.bounded.Swap(true) {
		ring(s.waker.bell) // it sleeps as if there were nothing to hold or to expire
	}
	wants := make([]driven.Want, len(chunk))
	for i, a := range chunk {
		wants[i] = s.want(a)
	}
	answer, again, err := l.ask(wants)
	if err != nil {
		return err
	}
	admitted := make(map[domain.JobID][]domain.HeldSlot, len(answer.Admitted))
	for i := range answer.Admitted {
		admitted[answer.Admitted[i].ID] = answer.Admitted[i].Slots
	}
	parked := s.parked(answer.Parked)
	fit, gone := make([]*attempt, 0, len(admitted)), []*attempt(nil)
	for _, a := range chunk {
		id := a.claim.Job.ID
		slots, may := admitted[id]
		switch {
		case may && l.enter(a, slots):
			fit = append(fit, a)
		case parked[id] || again && !may: // by the call whose answer was lost; or it was lost then
			l.park(a)
		case !may:
			gone = append(gone, a)
		}
	}
	l.overtaken(gone)
	l.line.put(fit)
	s.waker.missed(wants, answer)
	return nil
}

// ask asks until there is an answer, for one renewal interval: a call whose answer
// was lost may have taken slots, and the same call made again finds them. Given back
// instead, the claims would leave them to a sweep and its linger, and every job
// behind them. again says that it took more than one try; what an answer said that was
// not heard is looked at, but for turns, which are left to the sweep.
func (l *lane) ask(wants []driven.Want) (answer driven.Admission, again bool, err error) {
	s := l.session
	until := s.clock.now() + s.cfg.Renew
	wait := backoff{first: emptyFirst, cap: time.Second, jitter: true}
	defer func() {
		if again || err != nil {
			s.waker.add(s.asked(wants...)...)
		}
	}()
	for ; ; again = true {
		answer, err = inTime(&l.within, s, s.cfg.Renew, s.deps.Store.Admit, driven.AdmitRequest{Wants: wants})
		if err == nil || !transient(err) || s.stopping() || s.clock.now() >= until {
			return answer, again, err
		}
		s.fail("admit", l.queue, err)
		if !rest(s.ctx, wait.next()) {
			return answer, again, err
		}
	}
}

// asked are the keys of limits and rates that claimed jobs ask for, as far as is known here.
func (s *session) asked(wants ...driven.Want) (keys []string) {
	for i := range wants {
		for _, d := range s.declared {
			if d.Kind == wants[i].Kind {
				keys = append(keys, d.Key(wants[i].Own(d.Sort)))
			}
		}
	}
	return keys
}

// parked names the jobs that were parked, and notes which buckets are full.
func (s *session) parked(all []driven.Parking) map[domain.JobID]bool {
	ids, full := make(map[domain.JobID]bool, len(all)), make(map[*bucket]bool)
	for _, p := range all {
		ids[p.ID] = true
		if b := s.buckets[p.Key]; b != nil {
			full[b] = true
		}
	}
	for b := range full { // once, however many were parked
		b.full(s.clock.now())
	}
	return ids
}

// enter notes what an admitted job holds. It is false where the claim was given
// up meanwhile; what it holds is then given back.
func (l *lane) enter(a *attempt, slots []domain.HeldSlot) bool {
	s := l.session
	a.grip.set(holding{slots: slots, owner: a.claim.Ticket(), kind: a.claim.Job.Kind, since: s.clock.now()})
	for _, h := range slots {
		if b := s.buckets[h.Key]; b != nil {
			b.enter()
		}
	}
	if a.move(admitting, waiting) {
		s.claimed(a)
		s.waker.watch(slots)
		return true
	}
	l.refuse(a)
	return false
}

// park lets go of a job that waits for a bound.
func (l *lane) park(a *attempt) {
	s := l.session
	a.phase.Store(finished)
	l.load.Add(-1)
	s.held.forget(a)
	if s.deps.Observer != nil {
		s.observe(a.event(domain.EventParked))
	}
	ring(s.changed)
}

// refuse gives back a claim that no worker gets.
func (l *lane) refuse(a *attempt) {
	l.load.Add(-1)
	if a.phase.Load() == lost {
		l.session.drop(a, 0)
		return
	}
	l.session.giveBack(a)
}

// want is what a claimed job asks for. A key function's answer holds where the
// job does not name its own key.
func (s *session) want(a *attempt) driven.Want {
	job, p := &a.claim.Job, a.plan
	w := driven.Want{
		Ticket: a.claim.Ticket(), Kind: job.Kind, Limit: p.limited.N > 0, Rate: p.rated.N > 0,
		Turn: job.Turn != domain.NoTurn, OwnLimit: job.LimitKey, OwnRate: job.LimitKey,
	}
	if job.LimitKey == "" {
		w.OwnLimit, w.OwnRate = s.ownKey(a, "limit", p.limited.Key), s.ownKey(a, "rate", p.rated.Key)
	}
	return w
}

// ownKey asks the host's function. One that panics, or gives what is no key, leaves
// the job to the group's own bucket.
func (s *session) ownKey(a *attempt, what string, of func([]byte) string) (key string) {
	if of == nil {
		return ""
	}
	report := func(err error) {
		e := a.event(domain.EventError)
		e.Operation, e.Err = what+" key", err
		s.observe(e)
	}
	defer func() {
		if r := recover(); r != nil {
			key = ""
			report(fmt.Errorf("the key function panicked with a %T", r)) // what it says may hold args
		}
	}()
	if key = of(a.claim.Job.Args); key == "" {
		return ""
	}
	if err := domain.ValidateName(what+" key", key, domain.MaxKey); err != nil {
		report(&domain.Fault{Code: domain.Invalid, Op: "check " + what + " key", Hint: domain.HintOf(err)})
		return ""
	}
	return key
}
