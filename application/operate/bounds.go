package operate

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
	"github.com/rowlock/rowlock/ports/driving"
)

// maxWaiting is where the count of who waits for a key stops.
const maxWaiting = 1000

// Bounds looks at limits, rates and turns, and releases chains. It is safe for
// concurrent use. With a tenant in scope it shows that tenant's turns alone, and
// of limits and rates only how many of its jobs wait.
type Bounds struct {
	store Store
	wake  waker
}

var _ driving.Bounds = (*Bounds)(nil)

// NewBounds makes a Bounds.
func NewBounds(d Deps) *Bounds { return &Bounds{store: d.Store, wake: wakerOf(d)} }

// Declared answers one page of what kinds declare, by kind.
func (b *Bounds) Declared(ctx context.Context, after string, limit int) ([]domain.Declaration, error) {
	limit, err := pageOf(ctx, limit)
	if err != nil {
		return nil, err
	}
	return b.store.Declared(ctx, after, limit)
}

// Held answers one page of taken slots, by key and number.
func (b *Bounds) Held(ctx context.Context, after domain.Slot, limit int) (all []domain.Holder, err error) {
	if limit, err = pageOf(ctx, limit); err != nil {
		return nil, err
	}
	for {
		page, err := b.store.Held(ctx, after, limit)
		if err != nil {
			return nil, err
		}
		for _, h := range page {
			if len(all) < limit && theirs(ctx, h.Key) {
				all = append(all, h)
			}
		}
		if len(page) < limit || len(all) == limit {
			return all, nil
		}
		after = page[len(page)-1].Slot
	}
}

// Waiting answers one page of the keys that jobs wait for, in byte order, with how
// many they are and, of a mutex or chain, whose turn it is.
func (b *Bounds) Waiting(ctx context.Context, after string, limit int) ([]driving.Waiting, error) {
	limit, err := pageOf(ctx, limit)
	if err != nil {
		return nil, err
	}
	all, err := b.waited(ctx, after, limit)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	keys := make([]string, len(all))
	for i := range all {
		keys[i] = all[i].Key
	}
	heads, err := b.store.Heads(ctx, keys)
	for i := range all {
		all[i].Turn = heads[all[i].Key]
	}
	return all, err
}

func (b *Bounds) waited(ctx context.Context, after string, limit int) (all []driving.Waiting, err error) {
	for {
		keys, err := b.store.BlockedKeys(ctx, after, limit)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			w, err := b.waiting(ctx, key)
			if err != nil {
				return nil, err
			}
			if w.N > 0 {
				all = append(all, w)
			}
			if len(all) == limit {
				return all, nil
			}
		}
		if len(keys) < limit {
			return all, nil
		}
		after = keys[len(keys)-1]
	}
}

func (b *Bounds) waiting(ctx context.Context, key string) (w driving.Waiting, err error) {
	w.Key = key
	if k, ok := domain.ParseBoundKey(key); ok && k.Sort.Turns() && !theirs(ctx, key) {
		return w, nil
	}
	filter := domain.Filter{States: []domain.State{domain.Blocked}, Waits: key, Tenant: domain.TenantOf(ctx)}
	w.N, w.Exact, err = b.store.Count(ctx, filter, maxWaiting)
	return w, err
}

// Chains answers one page of the chains that a dead job blocks, by key.
func (b *Bounds) Chains(ctx context.Context, after string, limit int) (all []domain.Chain, err error) {
	if limit, err = pageOf(ctx, limit); err != nil {
		return nil, err
	}
	for {
		page, err := b.store.Chains(ctx, after, limit)
		if err != nil {
			return nil, err
		}
		for _, c := range page {
			if len(all) < limit && theirs(ctx, c.Key) {
				all = append(all, c)
			}
		}
		if len(page) < limit || len(all) == limit {
			return all, nil
		}
		after = page[len(page)-1].Key
	}
}

// Release lets a blocked chain go on without its dead jobs, which stay dead.
func (b *Bounds) Release(ctx context.Context, key string) (driving.Released, error) {
	const op = "release chain"
	name := domain.CleanText(key, domain.MaxBound)
	if k, ok := domain.ParseBoundKey(key); !ok || k.Sort != domain.BoundChain {
		return driving.Released{}, &domain.Fault{Code: domain.Invalid, Op: op, Subject: name, Hint: "give the key of a chain as the list of blocked chains has it; what a limit or a mutex holds is free when its job ends: cancel that, or end its runner"}
	}
	if _, err := domain.ScopeOf(ctx); err != nil {
		return driving.Released{}, err
	}
	var released driven.Unchained
	if theirs(ctx, key) {
		var err error
		if released, err = b.store.Unchain(ctx, key); err != nil {
			return driving.Released{}, err
		}
	}
	if released.Dead == 0 {
		return driving.Released{}, &domain.Fault{Code: domain.NotFound, Op: op, Subject: name, Hint: "no dead job blocks this chain"}
	}
	return driving.Released{Dead: released.Dead, Woken: b.wake.wake(ctx, released.Keys)}, nil
}

// theirs says whether a key's holders may be shown: without a tenant in scope all
// may, else those of its turns.
func theirs(ctx context.Context, key string) bool {
	tenant := domain.TenantOf(ctx)
	k, ok := domain.ParseBoundKey(key)
	return tenant == "" || ok && k.Sort.Turns() && k.Tenant == tenant
}

// pageOf judges the size of a page, and the tenant in scope.
func pageOf(ctx context.Context, limit int) (int, error) {
	if _, err := domain.ScopeOf(ctx); err != nil {
		return 0, err
	}
	page, err := domain.Page{Size: limit}.Validate()
	return page.Size, err
}
