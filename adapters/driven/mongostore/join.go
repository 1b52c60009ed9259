package mongostore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
)

// Whoever adds to a batch says so in the batch's document before, by a write that
// finds it only while it is open, and takes that back after. A seal closes the
// document to newcomers and waits for those who are under way; so it counts all
// of a call or nothing. A caller that died would keep it for ever: after joinPatience
// a seal counts what is there, and a call that comes to its end later than that
// removes what it wrote.
//
// In a host's transaction there is no after. There the write is one of the
// transaction: what seals the batch meanwhile conflicts with it, or waits for it.

// joinPatience is how long a seal waits for a call that adds, by the store's clock.
const joinPatience = time.Minute

// membership is one batch that rows of a call name.
type membership struct {
	id      key
	tenants []string // of those rows
}

// memberships lists the batches in the order of the rows.
func (in *intake) memberships() (all []*membership) {
	for i := range in.rows {
		r := &in.rows[i]
		if r.Batch.IsZero() {
			continue
		}
		at := slices.IndexFunc(all, func(m *membership) bool { return m.id == r.Batch })
		if at < 0 {
			at, all = len(all), append(all, &membership{id: r.Batch})
		}
		if !slices.Contains(all[at].tenants, r.Tenant) {
			all[at].tenants = append(all[at].tenants, r.Tenant)
		}
	}
	return all
}

// open chooses the batch while the rows may be members of it.
func (m *membership) open() bson.D {
	filter := bson.D{{Key: "_id", Value: m.id}, {Key: "stage", Value: stageOpen}}
	whose := bson.D{{Key: "tenant", Value: bson.D{{Key: "$exists", Value: false}}}}
	if len(m.tenants) > 1 || m.tenants[0] == "" {
		return append(filter, whose...)
	}
	return append(filter, bson.E{Key: "$or", Value: bson.A{whose, bson.D{{Key: "tenant", Value: m.tenants[0]}}}})
}

// joining has the call under way in all batches that its rows name while it writes.
func (s *store) joining(ctx context.Context, in *intake, now int64, write func() error) error {
	all := in.memberships()
	if len(all) == 0 {
		return write()
	}
	mark := "adding." + in.name()
	err := s.join(ctx, all, bson.D{{Key: mark, Value: now}})
	if err == nil {
		err = write()
	}
	if err != nil && broken(err) {
		return err // whoever comes again with the same rows finds himself under way
	}
	for _, m := range all {
		if late := s.joined(ctx, m, mark); err == nil && late != nil {
			err = late
			if !broken(late) {
				err = s.takeBack(ctx, in, late)
			}
		}
	}
	return err
}

// name is the same for each try of one call.
func (in *intake) name() string {
	sum := sha256.New()
	for i := range in.rows {
		sum.Write(in.rows[i].ID[:])
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// join writes into all the batches that the call is under way there.
func (s *store) join(ctx context.Context, all []*membership, set bson.D) error {
	for _, m := range all {
		res, err := s.batches.UpdateOne(ctx, m.open(), bson.D{{Key: "$set", Value: set}})
		if err != nil {
			return err
		}
		if res.MatchedCount == 0 {
			return s.barred(ctx, m)
		}
	}
	return nil
}

// joinInTx is join where the writes are the host's to commit. A value that is
// there already would be no write, and meet nobody.
func (s *store) joinInTx(ctx context.Context, in *intake) error {
	return s.join(ctx, in.memberships(), bson.D{{Key: "joined", Value: newMark()}})
}

// barred says why rows may not be members of the batch.
func (s *store) barred(ctx context.Context, m *membership) error {
	var b batchRow
	err := s.batches.FindOne(ctx, bson.D{{Key: "_id", Value: m.id}}, options.FindOne().SetProjection(bson.D{{Key: "tenant", Value: 1}, {Key: "stage", Value: 1}})).Decode(&b)
	foreign := slices.ContainsFunc(m.tenants, func(tenant string) bool { return b.Tenant != "" && b.Tenant != tenant })
	switch {
	case isNone(err) || err == nil && foreign:
		return noBatch("insert", m.id)
	case err != nil:
		return err
	}
	return sealedMeanwhile(m.id)
}

func sealedMeanwhile(id key) error {
	return &domain.Fault{Code: domain.Conflict, Op: "insert", Subject: domain.BatchID(id).String(), Hint: "this batch is sealed: make another for more jobs"}
}

// joined takes back that the call is under way. Where the members were counted
// without it, it came too late.
func (s *store) joined(ctx context.Context, m *membership, mark string) error {
	uncounted := bson.D{{Key: "_id", Value: m.id}, {Key: "total", Value: bson.D{{Key: "$exists", Value: false}}}}
	res, err := s.batches.UpdateOne(ctx, uncounted, bson.D{{Key: "$unset", Value: bson.D{{Key: mark, Value: ""}}}})
	if err != nil || res.MatchedCount > 0 {
		return err
	}
	n, err := s.batches.CountDocuments(ctx, bson.D{{Key: "_id", Value: m.id}, {Key: mark, Value: bson.D{{Key: "$exists", Value: true}}}})
	if err == nil && n > 0 {
		err = sealedMeanwhile(m.id)
	}
	return err
}

// underWay says whether a call adds to the batch that a seal has yet to wait for.
func (b *batchRow) underWay(now int64) bool {
	for _, since := range b.Adding {
		if since > now-ms(joinPatience) {
			return true
		}
	}
	return false
}

// withSession says whether the context is that of a transaction.
func withSession(ctx context.Context) bool { return mongo.SessionFromContext(ctx) != nil }
