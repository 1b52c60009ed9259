package mongostore

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// declared is a document of the collection of bounds, of two sorts: of a kind,
// which names its group, and of a group, which has what its kinds are held to. So
// what kinds share is one document, and one write of it holds all of them to the
// same at once.
type declared struct {
	ID    string           `bson:"_id"`
	Kind  string           `bson:"kind,omitempty"`
	Sort  domain.BoundSort `bson:"sort"`
	Group string           `bson:"grp"`
	Off   int              `bson:"off,omitempty"` // 1: the kind declares none any more
	N     int              `bson:"n,omitempty"`
	Span  int64            `bson:"span,omitempty"` // of a rate
	At    int64            `bson:"declared_at"`
}

// declaredID is the document of a kind; a group's is the stored key of its own
// bucket, which begins with a letter.
func declaredID(kind string, sort domain.BoundSort) string {
	return strconv.Itoa(int(sort)) + ":" + kind
}

func groupID(sort domain.BoundSort, group string) string {
	return domain.Declaration{Sort: sort, Group: group}.Key("")
}

// Declare writes what is new: the groups first, so that no kind is ever held to
// what nobody declared. Each document is the newest writer's; a call that was cut
// short is made again.
func (s *store) Declare(ctx context.Context, kinds []string, all []domain.Declaration) error {
	return s.bounded(ctx, "declare bounds", func(ctx context.Context, now int64) error {
		groups, wanted := map[string]declared{}, map[string]declared{}
		for _, d := range all {
			k := declared{ID: declaredID(d.Kind, d.Sort), Kind: d.Kind, Sort: d.Sort, Group: d.Group}
			if d.N > 0 {
				id := groupID(d.Sort, d.Group)
				groups[id] = declared{ID: id, Sort: d.Sort, Group: d.Group, N: d.N, Span: ms(d.Window)}
			} else {
				k.Off = 1
			}
			wanted[k.ID] = k
		}
		if err := s.declare(ctx, groups, now); err != nil {
			return err
		}
		if err := s.undeclare(ctx, kinds, wanted); err != nil {
			return err
		}
		return s.declare(ctx, wanted, now)
	})
}

// undeclare adds what the kinds have and do not declare any more.
func (s *store) undeclare(ctx context.Context, kinds []string, wanted map[string]declared) error {
	var ids []string
	for _, kind := range kinds {
		for _, sort := range []domain.BoundSort{domain.BoundLimit, domain.BoundRate} {
			if id := declaredID(kind, sort); wanted[id].ID == "" {
				ids = append(ids, id)
			}
		}
	}
	old, err := s.declarations(ctx, ids)
	for _, d := range old {
		d.Off = 1
		wanted[d.ID] = d
	}
	return err
}

// declare writes the documents that are not there as wanted.
func (s *store) declare(ctx context.Context, wanted map[string]declared, now int64) error {
	ids := make([]string, 0, len(wanted))
	for id := range wanted {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	there, err := s.declarations(ctx, ids)
	if err != nil {
		return err
	}
	var writes []mongo.WriteModel
	for _, id := range ids {
		d := wanted[id]
		if d.At = there[id].At; d == there[id] {
			continue
		}
		d.At = now
		writes = append(writes, mongo.NewReplaceOneModel().SetUpsert(true).SetFilter(bson.D{{Key: "_id", Value: id}}).SetReplacement(d))
	}
	t, err := s.bulk(ctx, s.bounds, writes)
	if err == nil {
		err = t.fault()
	}
	return err
}

// declarations reads documents by their ids.
func (s *store) declarations(ctx context.Context, ids []string) (map[string]declared, error) {
	found := make(map[string]declared, len(ids))
	for _, part := range chunks(ids, small) {
		all, err := s.readDeclared(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: part}}}}, options.Find())
		if err != nil {
			return nil, err
		}
		for _, d := range all {
			found[d.ID] = d
		}
	}
	return found, nil
}

func (s *store) readDeclared(ctx context.Context, filter bson.D, opts *options.FindOptionsBuilder) (all []declared, err error) {
	cursor, err := s.bounds.Find(ctx, filter, opts.SetBatchSize(writeBound))
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &all)
	return all, err
}

// resolve gives documents of kinds what their groups have.
func (s *store) resolve(ctx context.Context, kinds []declared) ([]domain.Declaration, error) {
	var ids []string
	for _, k := range kinds {
		ids = append(ids, groupID(k.Sort, k.Group))
	}
	slices.Sort(ids)
	groups, err := s.declarations(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	all := make([]domain.Declaration, len(kinds))
	for i, k := range kinds {
		g := groups[groupID(k.Sort, k.Group)]
		all[i] = domain.Declaration{Kind: k.Kind, Sort: k.Sort, Group: k.Group, N: g.N, Window: span(g.Span), At: at(max(k.At, g.At))}
		if k.Off > 0 {
			all[i].N, all[i].At = 0, at(k.At)
		}
	}
	return all, nil
}

// Declared lists the documents of kinds.
func (s *store) Declared(ctx context.Context, after string, limit int) (all []domain.Declaration, err error) {
	err = s.bounded(ctx, "list declared bounds", func(ctx context.Context, _ int64) error {
		if limit <= 0 {
			return nil
		}
		kinds, err := s.readDeclared(ctx, bson.D{{Key: "kind", Value: bson.D{{Key: "$gt", Value: after}}}},
			options.Find().SetSort(bson.D{{Key: "kind", Value: 1}, {Key: "sort", Value: 1}}).SetLimit(int64(limit)))
		if err != nil {
			return err
		}
		all, err = s.resolve(ctx, kinds)
		return err
	})
	return all, err
}

// declaredFor reads what the kinds of claimed jobs declare, by the id of its document.
func (s *store) declaredFor(ctx context.Context, wants []driven.Want) (map[string]domain.Declaration, error) {
	var ids []string
	for i := range wants {
		if wants[i].Limit {
			ids = append(ids, declaredID(wants[i].Kind, domain.BoundLimit))
		}
		if wants[i].Rate {
			ids = append(ids, declaredID(wants[i].Kind, domain.BoundRate))
		}
	}
	slices.Sort(ids)
	found, err := s.declarations(ctx, slices.Compact(ids))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var kinds []declared
	for _, k := range found {
		if k.Off == 0 {
			kinds = append(kinds, k)
		}
	}
	all, err := s.resolve(ctx, kinds)
	byID := make(map[string]domain.Declaration, len(all))
	for _, d := range all {
		byID[declaredID(d.Kind, d.Sort)] = d
	}
	return byID, err
}

// allowed says how many each key of a limit or rate allows. One whose group no
// kind declares any more allows more than can be taken.
func (s *store) allowed(ctx context.Context, keys []string) (map[string]int, error) {
	groups := map[string][]string{} // keys of a group's document
	var names []string
	for _, of := range keys {
		if k, ok := domain.ParseBoundKey(of); ok && !k.Sort.Turns() {
			id := groupID(k.Sort, k.Group)
			groups[id], names = append(groups[id], of), append(names, k.Group)
		}
	}
	if len(groups) == 0 {
		return nil, nil
	}
	slices.SortFunc(names, cmp.Compare)
	kinds, err := s.readDeclared(ctx, bson.D{
		{Key: "kind", Value: bson.D{{Key: "$gt", Value: ""}}},
		{Key: "grp", Value: bson.D{{Key: "$in", Value: slices.Compact(names)}}},
	}, options.Find())
	if err != nil {
		return nil, err
	}
	all, err := s.resolve(ctx, kinds)
	n := make(map[string]int, len(keys))
	for _, of := range keys {
		n[of] = 2 * domain.MaxSlots
	}
	for _, d := range all {
		if d.N > 0 {
			for _, of := range groups[groupID(d.Sort, d.Group)] {
				n[of] = d.N
			}
		}
	}
	return n, err
}
