package mongostore_test

import (
	"net"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// heldBack is an open transaction: what it writes is held back until the commit,
// seen by the session's own finds, and refused like a server's when an id or key
// is held. What it updates nobody else writes meanwhile.
type heldBack struct {
	db      any
	docs    []heldDoc
	updates []heldUpdate
}

type heldDoc struct {
	collection string
	doc        bson.D
}

type heldUpdate struct {
	collection, id string // the id as text
	q, u           any
}

// lockWait is how long a write waits for a transaction that has its document.
const lockWait = 2 * time.Second

func conflict() bson.D {
	return bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: int32(112)}, {Key: "errmsg", Value: "WriteConflict"}, {Key: "errorLabels", Value: bson.A{"TransientTransactionError"}}}
}

// of is the transaction, which begins with its first write.
func (s *aSet) of(tx string, c bson.D) *heldBack {
	if s.txs[tx] == nil {
		s.txs[tx] = &heldBack{db: get(c, "$db")}
	}
	return s.txs[tx]
}

// insert keeps documents back, unless what they want is held already.
func (s *aSet) insert(server net.Conn, c bson.D, tx string) (bson.D, error) {
	docs, _ := get(c, "documents").(bson.A)
	taken, err := s.taken(server, get(c, "$db"), c[0].Value.(string), docs, tx)
	if err != nil {
		return nil, err
	}
	var refused bson.A
	for i, one := range docs {
		doc, _ := one.(bson.D)
		bad := false
		for _, field := range uniqueFields {
			if value := get(doc, field); value != nil {
				bad = bad || taken[field+text(value)]
				taken[field+text(value)] = true
			}
		}
		if bad {
			refused = append(refused, bson.D{{Key: "index", Value: int32(i)}, {Key: "code", Value: int32(11000)}, {Key: "errmsg", Value: "E11000"}})
		}
	}
	if refused != nil {
		s.take(tx) // a refusal ends the transaction
		return append(ok(), bson.E{Key: "n", Value: int32(len(docs) - len(refused))}, bson.E{Key: "writeErrors", Value: refused}), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.of(tx, c)
	for _, doc := range docs {
		h.docs = append(h.docs, heldDoc{c[0].Value.(string), doc.(bson.D)})
	}
	return append(ok(), bson.E{Key: "n", Value: int32(len(docs))}), nil
}

var uniqueFields = []string{"_id", "unique_lock", "window_lock"}

// taken says which ids and keys of documents are held already.
func (s *aSet) taken(server net.Conn, db any, collection string, docs bson.A, tx string) (map[string]bool, error) {
	taken := map[string]bool{}
	for _, field := range uniqueFields {
		filter := bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: values(docs, field)}}}}
		found, err := s.find(server, bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: filter}, {Key: "$db", Value: db}}, tx)
		if err != nil {
			return nil, err
		}
		cursor, _ := get(found, "cursor").(bson.D)
		batch, _ := get(cursor, "firstBatch").(bson.A)
		for _, value := range values(batch, field) {
			taken[field+text(value)] = true
		}
	}
	return taken, nil
}

// update keeps updates of one document each back. One that another transaction has
// is a conflict at once; this one has it before it is looked at.
func (s *aSet) update(server net.Conn, c bson.D, tx string) (bson.D, error) {
	all, _ := get(c, "updates").(bson.A)
	collection, n := c[0].Value.(string), int32(0)
	for _, one := range all {
		each, _ := one.(bson.D)
		q, _ := get(each, "q").(bson.D)
		u, _ := get(each, "u").(bson.D)
		id := text(get(q, "_id"))
		s.mu.Lock()
		if s.lockedBy(collection, id, tx) {
			s.end(tx)
			s.mu.Unlock()
			return conflict(), nil
		}
		h := s.of(tx, c)
		for i := range h.docs {
			if d := &h.docs[i]; d.collection == collection && text(get(d.doc, "_id")) == id {
				d.doc = applied(d.doc, u)
				n++
			}
		}
		h.updates = append(h.updates, heldUpdate{collection, id, q, u})
		s.mu.Unlock()
		found, err := s.first(server, bson.D{{Key: "find", Value: collection}, {Key: "filter", Value: q}, {Key: "limit", Value: int32(1)}, {Key: "$db", Value: get(c, "$db")}})
		if err != nil {
			return nil, err
		}
		if n += int32(len(found)); len(found) == 0 {
			s.mu.Lock()
			h.updates = h.updates[:len(h.updates)-1]
			s.mu.Unlock()
		}
	}
	return append(ok(), bson.E{Key: "n", Value: n}, bson.E{Key: "nModified", Value: n}), nil
}

// first asks the real server for documents.
func (s *aSet) first(server net.Conn, find bson.D) (bson.A, error) {
	reply, err := ask(server, find)
	cursor, _ := get(reply, "cursor").(bson.D)
	batch, _ := get(cursor, "firstBatch").(bson.A)
	return batch, err
}

// lockedBy says whether a transaction but this one has the document; "" is any.
func (s *aSet) lockedBy(collection, id, but string) bool {
	for tx, h := range s.txs {
		if tx != but && slices.ContainsFunc(h.updates, func(u heldUpdate) bool { return u.collection == collection && (id == "" || u.id == id) }) {
			return true
		}
	}
	return false
}

// free waits until no transaction has what a command writes.
func (s *aSet) free(c bson.D) bool {
	collection, _ := c[0].Value.(string)
	parts, _ := get(c, "updates").(bson.A)
	if more, is := get(c, "deletes").(bson.A); is {
		parts = more
	}
	ids := []string{""}
	if len(parts) > 0 {
		ids = nil
	}
	for _, one := range parts {
		q, _ := get(one.(bson.D), "q").(bson.D)
		id := get(q, "_id")
		if _, list := id.(bson.D); list || id == nil {
			ids = []string{""}
			break
		}
		ids = append(ids, text(id))
	}
	for end := time.After(lockWait); ; {
		s.mu.Lock()
		locked := slices.ContainsFunc(ids, func(id string) bool { return s.lockedBy(collection, id, "") })
		ended := s.ended
		s.mu.Unlock()
		if !locked {
			return true
		}
		select {
		case <-ended:
		case <-end:
			return false
		}
	}
}

// applied is a document after an update of fields.
func applied(doc, u bson.D) bson.D {
	for _, op := range u {
		fields, _ := op.Value.(bson.D)
		if op.Key != "$set" && op.Key != "$unset" {
			continue
		}
		for _, f := range fields {
			doc = slices.DeleteFunc(slices.Clone(doc), func(e bson.E) bool { return e.Key == f.Key })
			if op.Key == "$set" {
				doc = append(doc, f)
			}
		}
	}
	return doc
}

// find adds what the transaction holds back to what the server has.
func (s *aSet) find(server net.Conn, c bson.D, tx string) (bson.D, error) {
	c = slices.DeleteFunc(plain(c), func(e bson.E) bool { return e.Key == "batchSize" })
	reply, err := ask(server, append(c, bson.E{Key: "batchSize", Value: int32(100_000)}))
	if err != nil {
		return nil, err
	}
	cursor, _ := get(reply, "cursor").(bson.D)
	batch, _ := get(cursor, "firstBatch").(bson.A)
	filter, _ := get(c, "filter").(bson.D)
	list := bson.A{filter[0].Value}
	if in, many := filter[0].Value.(bson.D); many {
		list, _ = in[0].Value.(bson.A)
	}
	wanted := map[string]bool{}
	for _, value := range list {
		wanted[text(value)] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.txs[tx]; h != nil {
		for _, d := range h.docs {
			if d.collection == c[0].Value && wanted[text(get(d.doc, filter[0].Key))] {
				batch = append(batch, d.doc)
			}
		}
	}
	return append(ok(), bson.E{Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "ns", Value: get(cursor, "ns")}, {Key: "firstBatch", Value: batch}}}), nil
}

// values are those of a field in some documents.
func values(docs bson.A, field string) bson.A {
	all := bson.A{}
	for _, one := range docs {
		if value := get(one.(bson.D), field); value != nil {
			all = append(all, value)
		}
	}
	return all
}

// commit writes what was held back. What was taken meanwhile is a conflict.
func (s *aSet) commit(server net.Conn, tx string) (bson.D, error) {
	s.mu.Lock()
	h := s.txs[tx]
	s.mu.Unlock()
	defer s.take(tx) // when all of it is there
	if h == nil {
		return ok(), nil
	}
	docs := map[string]bson.A{}
	for _, d := range h.docs {
		docs[d.collection] = append(docs[d.collection], d.doc)
	}
	for collection, some := range docs {
		taken, err := s.taken(server, h.db, collection, some, "")
		if err != nil || len(taken) > 0 {
			return conflict(), err
		}
	}
	for _, u := range h.updates {
		one := bson.D{{Key: "q", Value: u.q}, {Key: "u", Value: u.u}}
		reply, err := ask(server, bson.D{{Key: "update", Value: u.collection}, {Key: "updates", Value: bson.A{one}}, {Key: "$db", Value: h.db}})
		if err != nil || get(reply, "writeErrors") != nil || get(reply, "n") == int32(0) {
			return conflict(), err
		}
	}
	for collection, some := range docs {
		reply, err := ask(server, bson.D{{Key: "insert", Value: collection}, {Key: "documents", Value: some}, {Key: "$db", Value: h.db}})
		if err != nil || get(reply, "writeErrors") != nil {
			return conflict(), err
		}
	}
	return ok(), nil
}

// take ends a transaction.
func (s *aSet) take(tx string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(tx)
}

// end forgets a transaction and tells those who wait for one.
func (s *aSet) end(tx string) {
	delete(s.txs, tx)
	close(s.ended)
	s.ended = make(chan struct{})
}
