package inspect

import (
	"context"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// Stats is the state of the queues, who works them, and what nobody does.
func (s *Service) Stats(ctx context.Context) (driving.Stats, error) {
	tenant, err := domain.ScopeOf(ctx)
	if err != nil {
		return driving.Stats{}, err
	}
	stats, err := s.finder.Stats(ctx, tenant, maxState)
	if err != nil {
		return driving.Stats{}, err
	}
	runners, err := s.runners.ListRunners(ctx, maxRunners)
	if err != nil {
		return driving.Stats{}, err
	}
	return driving.Stats{Stats: stats, Runners: runners, Unhandled: unhandled(stats.Lines, runners)}, nil
}

// unhandled lists the kinds with due jobs in a queue where no live runner
// handles that kind: those jobs wait until one comes.
func unhandled(lines []domain.Line, runners []domain.RunnerInfo) []string {
	type place struct{ queue, kind string }
	handled := make(map[place]bool)
	for _, r := range runners {
		queues := r.Queues
		if len(queues) == 0 {
			queues = []string{anyQueue}
		}
		for _, q := range queues {
			for _, k := range r.Kinds {
				handled[place{q, k}] = true
			}
		}
	}
	var kinds []string
	for _, l := range lines {
		if l.Tally.Due > 0 && !handled[place{l.Queue, l.Kind}] && !handled[place{anyQueue, l.Kind}] {
			kinds = append(kinds, l.Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// anyQueue stands for the queues of a runner that works all; no queue has an empty name.
const anyQueue = ""
