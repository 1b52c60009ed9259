package mongostore

import (
	"context"
	"crypto/rand"
	"errors"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/rowlock/rowlock/domain"
)

// tally is what became of the guarded writes of one bulk.
type tally struct {
	matched   int64         // or put in anew
	refused   map[int]error // by the write's number: its own document's fault, the others stand
	contended error         // one of them only lost to another write
}

// bulk sends guarded updates, unordered, so that one that is refused keeps none
// of the others. An error means that it is not known which of them took.
func (s *store) bulk(ctx context.Context, to *mongo.Collection, writes []mongo.WriteModel) (t tally, err error) {
	t.refused = map[int]error{}
	begin := 0
	for _, part := range chunks(writes, small) {
		res, err := to.BulkWrite(ctx, part, options.BulkWrite().SetOrdered(false))
		if res != nil {
			t.matched += res.MatchedCount + res.UpsertedCount
		}
		if err := t.note(err, begin); err != nil {
			return t, err
		}
		begin += len(part)
	}
	return t, nil
}

// note sorts what single writes met from what ended the bulk.
func (t *tally) note(err error, begin int) error {
	var each mongo.BulkWriteException
	if !errors.As(err, &each) || each.WriteConcernError != nil || len(each.WriteErrors) == 0 {
		return err
	}
	for _, one := range each.WriteErrors {
		t.refused[begin+one.Index] = one.WriteError
		if code, _ := codeOf(one.WriteError); code == domain.Contended && one.Code != duplicateKey {
			t.contended = one.WriteError
		}
	}
	return nil
}

// fault is what the first write that was refused met, for calls that are made
// again as a whole.
func (t *tally) fault() error {
	if t.contended != nil {
		return t.contended
	}
	for _, err := range t.refused {
		return err
	}
	return nil
}

// isNone says that no document was found.
func isNone(err error) bool { return errors.Is(err, mongo.ErrNoDocuments) }

// newMark makes what a sweep or edit signs its writes with, to know them again.
func newMark() (m key) {
	_, _ = rand.Read(m[:]) // never fails
	return m
}
