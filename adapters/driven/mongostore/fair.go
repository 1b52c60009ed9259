package mongostore

import (
	"cmp"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// Bounds of a fair claim.
const (
	fairTenants = 32   // tenants that it looks at
	fairBeyond  = 100  // jobs of a tenant, beyond its share, that are looked through for the kinds
	fairLine    = 1000 // jobs in line that are looked through for those without a tenant
)

// fair is a claim that serves tenants in turn.
type fair struct {
	*claim
	firsts []row // the first job of each tenant that is looked at, in turn
	sure   int   // those of the kinds that were asked for
	none   []row // jobs without a tenant, in order
}

// takeFair takes from each tenant its share by one stamp, and fills what room is
// left as any claim does. The last that was served is the last in turn: a tenant
// that fills the room has no turn by that, or those behind the bound of tenants
// would never have theirs.
func (c *claim) takeFair(ctx context.Context) (left bool, err error) {
	c.tenant = c.After
	if len(c.Kinds) == 0 || c.N <= 0 {
		return false, nil
	}
	f := &fair{claim: c}
	if err := f.look(ctx); err != nil {
		return false, err
	}
	ids, err := f.shares(ctx)
	if err != nil {
		return false, err
	}
	err = c.stamp(ctx, ids)
	f.order()
	if err != nil {
		return true, err
	}
	served := len(c.jobs)
	if served == c.N {
		return true, nil
	}
	left, err = c.take(ctx)
	slices.SortFunc(c.jobs[served:], byTurn)
	if n := len(c.jobs); served == 0 && n > 0 {
		c.tenant = c.jobs[n-1].Job.Tenant
	}
	return left, err
}

// look finds the tenants in turn: those after the one that was served last, the
// jobs of none, and those from the least. Nobody is looked at who gets nothing.
func (f *fair) look(ctx context.Context) error {
	if err := f.scan(ctx, f.After, bson.D{}); err != nil || f.enough() {
		return err
	}
	var err error
	if f.none, err = f.ofNone(ctx); err != nil {
		return err
	}
	if len(f.none) > 0 {
		f.add(f.none[0])
	}
	if f.After == "" || f.enough() {
		return nil
	}
	return f.scan(ctx, "", bson.D{{Key: "$lte", Value: f.After}})
}

func (f *fair) enough() bool { return f.sure >= f.N || len(f.firsts) >= fairTenants }

func (f *fair) add(first row) {
	f.firsts = append(f.firsts, first)
	if slices.Contains(f.Kinds, first.Kind) {
		f.sure++
	}
}

// scan goes from tenant to tenant: each read is one seek in the index `fair`,
// however many jobs the tenants between have.
func (f *fair) scan(ctx context.Context, after string, upTo bson.D) error {
	opts := options.FindOne().SetSort(append(bson.D{{Key: "tenant", Value: 1}}, turn...)).
		SetProjection(bson.D{{Key: "tenant", Value: 1}, {Key: "kind", Value: 1}})
	for !f.enough() {
		var first row
		within := append(bson.D{{Key: "$gt", Value: after}}, upTo...)
		err := f.store.jobs.FindOne(ctx, f.readyOf(within), opts).Decode(&first)
		if isNone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		f.add(first)
		after = first.Tenant
	}
	return nil
}

// readyOf chooses the queue's ready jobs of some tenants, of any kind.
func (f *fair) readyOf(tenant any) bson.D {
	return bson.D{{Key: "state", Value: domain.Ready}, {Key: "queue", Value: f.Queue}, {Key: "tenant", Value: tenant}}
}

// ofNone reads the first jobs without a tenant. No index has them, so that queues
// without tenants do not pay for one: they are found among the first in line, and
// those farther behind are taken when that is their place.
func (f *fair) ofNone(ctx context.Context) (rows []row, err error) {
	for kinds := range slices.Chunk(f.Kinds, mergeBound) {
		cursor, err := f.store.jobs.Aggregate(ctx, mongo.Pipeline{
			{{Key: "$match", Value: f.due(kinds)}},
			{{Key: "$sort", Value: turn}},
			{{Key: "$limit", Value: fairLine}},
			{{Key: "$match", Value: bson.D{{Key: "tenant", Value: bson.D{{Key: "$exists", Value: false}}}}}},
			{{Key: "$limit", Value: f.N}},
			{{Key: "$project", Value: bson.D{{Key: "kind", Value: 1}, {Key: "priority", Value: 1}, {Key: "run_at", Value: 1}}}},
		})
		if err != nil {
			return nil, err
		}
		var some []row
		if err := cursor.All(ctx, &some); err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	slices.SortFunc(rows, func(a, b row) int { return a.before(&b) })
	return rows, nil
}

// shares lists the ids that each tenant gets, in turn.
func (f *fair) shares(ctx context.Context) (ids []key, err error) {
	if len(f.firsts) == 0 {
		return nil, nil
	}
	share := (f.N + len(f.firsts) - 1) / len(f.firsts)
	for i := range f.firsts {
		n := min(share, f.N-len(ids))
		if n == 0 {
			break
		}
		rows, err := f.own(ctx, &f.firsts[i], n)
		if err != nil {
			return nil, err
		}
		ids = append(ids, idsOf(rows[:min(n, len(rows))])...)
	}
	return ids, nil
}

// own lists the first n jobs of a tenant that are of the kinds. The index has no
// kinds: it looks farther where others stand between.
func (f *fair) own(ctx context.Context, first *row, n int) (rows []row, err error) {
	asked := slices.Contains(f.Kinds, first.Kind)
	switch {
	case first.Tenant == "":
		return f.none, nil
	case asked && n == 1:
		return []row{*first}, nil
	}
	reach := n
	if !asked {
		reach += fairBeyond
	}
	for {
		opts := options.Find().SetSort(turn).SetLimit(int64(reach)).SetBatchSize(int32(min(reach, writeBound))).
			SetProjection(bson.D{{Key: "kind", Value: 1}})
		rows, err = readAll(ctx, f.store.jobs, f.readyOf(first.Tenant), opts)
		found := len(rows)
		rows = slices.DeleteFunc(rows, func(r row) bool { return !slices.Contains(f.Kinds, r.Kind) })
		if err != nil || len(rows) >= n || found < reach || reach > n {
			return rows, err
		}
		reach += fairBeyond
	}
}

// order puts what was taken in turn, and notes whose it was last.
func (f *fair) order() {
	turns := make(map[string]int, len(f.firsts))
	for i := range f.firsts {
		turns[f.firsts[i].Tenant] = i
	}
	slices.SortFunc(f.jobs, func(a, b driven.Claimed) int {
		return cmp.Or(cmp.Compare(turns[a.Job.Tenant], turns[b.Job.Tenant]), byTurn(a, b))
	})
	if n := len(f.jobs); n > 0 {
		f.tenant = f.jobs[n-1].Job.Tenant
	}
}
