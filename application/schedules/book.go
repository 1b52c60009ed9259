package schedules

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/domain"
)

// Book gathers what a process declares. It is safe for concurrent use; once sealed it
// no longer changes.
type Book struct {
	mu      sync.Mutex
	entries map[domain.ScheduleKey]entry
	sealed  bool
}

type entry struct {
	make    Maker
	builtin bool
}

// Maker makes a schedule when everything else is known, e.g. the handlers of the kinds,
// with its tenant in scope.
type Maker func(context.Context) (domain.Schedule, error)

// Declare adds one. A host's beats one that comes with a library; two by the host, or
// two by libraries, are a Conflict, and so is one after the start.
func (b *Book) Declare(key domain.ScheduleKey, builtin bool, how Maker) error {
	if err := domain.ValidateName("schedule name", key.Name, domain.MaxSched); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old, taken := b.entries[key]
	switch {
	case b.sealed:
		return conflict(key, "the worker has started: declare every schedule before")
	case taken && old.builtin == builtin:
		return conflict(key, "there is a schedule of this name already: give each its own")
	case taken && builtin:
		return nil
	case b.entries == nil:
		b.entries = make(map[domain.ScheduleKey]entry)
	}
	b.entries[key] = entry{how, builtin}
	return nil
}

func conflict(key domain.ScheduleKey, hint string) error {
	return &domain.Fault{Code: domain.Conflict, Op: "declare schedule", Subject: domain.CleanText(key.Name, 80), Hint: hint}
}

// Seal ends declaring and makes all of them, by tenant and name. A second call makes
// them again.
func (b *Book) Seal(ctx context.Context) ([]domain.Schedule, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sealed = true
	keys := slices.SortedFunc(maps.Keys(b.entries), func(x, y domain.ScheduleKey) int {
		return cmp.Or(cmp.Compare(x.Tenant, y.Tenant), cmp.Compare(x.Name, y.Name))
	})
	all := make([]domain.Schedule, len(keys))
	for i, key := range keys {
		made, err := b.entries[key].make(domain.WithTenant(ctx, key.Tenant))
		if err != nil {
			return nil, about(key, err)
		}
		all[i] = made
	}
	return all, nil
}

// about says which schedule a fault is about.
func about(key domain.ScheduleKey, err error) error {
	var f *domain.Fault
	if !errors.As(err, &f) {
		return err
	}
	named := *f
	named.Subject = "schedule " + domain.CleanText(key.Name, 80)
	if f.Subject != "" {
		named.Subject += ": " + f.Subject
	}
	return &named
}
