package conformance

import (
	"context"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// brokenBounds are the worse methods of a store's bounds.
type brokenBounds struct {
	onAdmit       func(context.Context, driven.AdmitRequest) (driven.Admission, error)
	onHold        func(context.Context, []driven.Holding) error
	onWake        func(ctx context.Context, keys []string) (driven.Woken, error)
	onExpire      func(ctx context.Context, limit int) (driven.Expired, error)
	onReap        func(context.Context, driven.ReapRequest) (driven.Reaped, error)
	onDeclare     func(ctx context.Context, kinds []string, all []domain.Declaration) error
	onDeclared    func(ctx context.Context, after string, limit int) ([]domain.Declaration, error)
	onLoosen      func(context.Context, driven.LoosenRequest) (driven.Loosened, error)
	onHeld        func(ctx context.Context, after domain.Slot, limit int) ([]domain.Holder, error)
	onBlockedKeys func(ctx context.Context, after string, limit int) ([]string, error)
	onHeads       func(ctx context.Context, keys []string) (map[string]domain.JobID, error)
	onChains      func(ctx context.Context, after string, limit int) ([]domain.Chain, error)
	onUnchain     func(ctx context.Context, key string) (driven.Unchained, error)
}

func (b *broken) Admit(ctx context.Context, r driven.AdmitRequest) (driven.Admission, error) {
	return or(b.onAdmit, b.onAdmit != nil, b.Store.Admit)(ctx, r)
}

func (b *broken) Hold(ctx context.Context, all []driven.Holding) error {
	return or(b.onHold, b.onHold != nil, b.Store.Hold)(ctx, all)
}

func (b *broken) Wake(ctx context.Context, keys []string) (driven.Woken, error) {
	return or(b.onWake, b.onWake != nil, b.Store.Wake)(ctx, keys)
}

func (b *broken) Expire(ctx context.Context, limit int) (driven.Expired, error) {
	return or(b.onExpire, b.onExpire != nil, b.Store.Expire)(ctx, limit)
}

func (b *broken) Reap(ctx context.Context, r driven.ReapRequest) (driven.Reaped, error) {
	return or(b.onReap, b.onReap != nil, b.Store.Reap)(ctx, r)
}

func (b *broken) Declare(ctx context.Context, kinds []string, all []domain.Declaration) error {
	return or(b.onDeclare, b.onDeclare != nil, b.Store.Declare)(ctx, kinds, all)
}

func (b *broken) Declared(ctx context.Context, after string, limit int) ([]domain.Declaration, error) {
	return or(b.onDeclared, b.onDeclared != nil, b.Store.Declared)(ctx, after, limit)
}

func (b *broken) Loosen(ctx context.Context, r driven.LoosenRequest) (driven.Loosened, error) {
	return or(b.onLoosen, b.onLoosen != nil, b.Store.Loosen)(ctx, r)
}

func (b *broken) Held(ctx context.Context, after domain.Slot, limit int) ([]domain.Holder, error) {
	return or(b.onHeld, b.onHeld != nil, b.Store.Held)(ctx, after, limit)
}

func (b *broken) BlockedKeys(ctx context.Context, after string, limit int) ([]string, error) {
	return or(b.onBlockedKeys, b.onBlockedKeys != nil, b.Store.BlockedKeys)(ctx, after, limit)
}

func (b *broken) Heads(ctx context.Context, keys []string) (map[string]domain.JobID, error) {
	return or(b.onHeads, b.onHeads != nil, b.Store.Heads)(ctx, keys)
}

func (b *broken) Chains(ctx context.Context, after string, limit int) ([]domain.Chain, error) {
	return or(b.onChains, b.onChains != nil, b.Store.Chains)(ctx, after, limit)
}

func (b *broken) Unchain(ctx context.Context, key string) (driven.Unchained, error) {
	return or(b.onUnchain, b.onUnchain != nil, b.Store.Unchain)(ctx, key)
}
