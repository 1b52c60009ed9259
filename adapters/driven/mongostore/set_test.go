package mongostore_test

import (
	"context"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// aSet speaks like a replica set of one and keeps what it is told on a real
// stand-alone server. It adds what such a server lacks: transactions of inserts
// (held back until the commit, seen by the session's own finds, refused like a
// server's when an id or key is held) and change streams of one collection.
type aSet struct {
	listener net.Listener
	server   string

	mu      sync.Mutex
	txs     map[string]*held
	events  []string // ids of documents that were updated, in their order
	changed chan struct{}
	serving sync.WaitGroup
	conns   []net.Conn
}

// held is an open transaction.
type held struct {
	db, collection any
	docs           bson.A
}

// newSet serves until the test ends and gives its URI for the database of another.
func newSet(t testing.TB, uri string) (*aSet, string) {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &aSet{listener: listener, server: u.Host, txs: map[string]*held{}, changed: make(chan struct{})}
	s.serving.Go(func() { s.accept(context.WithoutCancel(t.Context())) })
	t.Cleanup(s.close)
	u.Host = listener.Addr().String()
	return s, u.String()
}

func (s *aSet) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.serving.Wait()
}

func (s *aSet) accept(ctx context.Context) {
	for {
		client, err := s.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(ctx, "tcp", s.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		s.mu.Lock()
		s.conns = append(s.conns, client, server)
		s.mu.Unlock()
		s.serving.Go(func() {
			s.serve(client, server)
			_ = client.Close()
			_ = server.Close()
		})
	}
}

// serve answers one connection's commands.
func (s *aSet) serve(client, server net.Conn) {
	for {
		id, legacy, command, err := receive(client)
		if err != nil {
			return
		}
		reply, err := s.answer(server, command)
		if err != nil || send(client, id, legacy, reply) != nil {
			return
		}
	}
}

func (s *aSet) answer(server net.Conn, c bson.D) (bson.D, error) {
	tx := txOf(c)
	switch name := c[0].Key; {
	case name == "hello" || name == "isMaster" || name == "ismaster":
		me := s.listener.Addr().String()
		reply, err := ask(server, bson.D{{Key: "hello", Value: 1}, {Key: "$db", Value: "admin"}})
		reply = slices.DeleteFunc(reply, func(e bson.E) bool { return e.Key == "topologyVersion" })
		return append(reply, bson.D{
			{Key: "setName", Value: "rs0"},
			{Key: "hosts", Value: bson.A{me}},
			{Key: "me", Value: me},
			{Key: "primary", Value: me},
			{Key: "setVersion", Value: 1},
			{Key: "secondary", Value: false},
			{Key: "logicalSessionTimeoutMinutes", Value: 30},
		}...), err
	case name == "endSessions" || name == "killCursors" && cursorOf(c, "cursors"):
		return ok(), nil
	case name == "commitTransaction":
		return s.commit(server, c, tx)
	case name == "abortTransaction":
		s.take(tx)
		return ok(), nil
	case name == "insert" && inTx(c):
		return s.insert(server, c, tx)
	case name == "find" && inTx(c):
		return s.find(server, c, tx)
	case name == "aggregate" && watches(c):
		return stream("firstBatch", nil), nil
	case name == "getMore" && cursorOf(c, "getMore"):
		return s.more(), nil
	case name == "update":
		defer s.happened(c)
	}
	return ask(server, plain(c))
}

// insert keeps documents back, unless what they want is held already.
func (s *aSet) insert(server net.Conn, c bson.D, tx string) (bson.D, error) {
	docs, _ := get(c, "documents").(bson.A)
	taken := map[string]bool{}
	for _, field := range []string{"_id", "unique_lock"} {
		filter := bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: values(docs, field)}}}}
		found, err := s.find(server, bson.D{{Key: "find", Value: c[0].Value}, {Key: "filter", Value: filter}, {Key: "$db", Value: get(c, "$db")}}, tx)
		if err != nil {
			return nil, err
		}
		cursor, _ := get(found, "cursor").(bson.D)
		batch, _ := get(cursor, "firstBatch").(bson.A)
		for _, value := range values(batch, field) {
			taken[field+text(value)] = true
		}
	}
	var refused bson.A
	for i, one := range docs {
		doc, _ := one.(bson.D)
		id, lock := "_id"+text(get(doc, "_id")), "unique_lock"+text(get(doc, "unique_lock"))
		if taken[id] || get(doc, "unique_lock") != nil && taken[lock] {
			refused = append(refused, bson.D{{Key: "index", Value: int32(i)}, {Key: "code", Value: int32(11000)}, {Key: "errmsg", Value: "E11000"}})
		}
		taken[id], taken[lock] = true, true
	}
	if refused != nil {
		s.take(tx) // a refusal ends the transaction
		return append(ok(), bson.E{Key: "n", Value: int32(len(docs) - len(refused))}, bson.E{Key: "writeErrors", Value: refused}), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.txs[tx] == nil {
		s.txs[tx] = &held{db: get(c, "$db"), collection: c[0].Value}
	}
	s.txs[tx].docs = append(s.txs[tx].docs, docs...)
	return append(ok(), bson.E{Key: "n", Value: int32(len(docs))}), nil
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
	in, _ := filter[0].Value.(bson.D)
	list, _ := in[0].Value.(bson.A)
	wanted := map[string]bool{}
	for _, value := range list {
		wanted[text(value)] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.txs[tx]; h != nil {
		for _, doc := range h.docs {
			if wanted[text(get(doc.(bson.D), filter[0].Key))] {
				batch = append(batch, doc)
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
func (s *aSet) commit(server net.Conn, c bson.D, tx string) (bson.D, error) {
	h := s.take(tx)
	if h == nil || len(h.docs) == 0 {
		return ok(), nil
	}
	reply, err := ask(server, bson.D{{Key: "insert", Value: h.collection}, {Key: "documents", Value: h.docs}, {Key: "$db", Value: h.db}})
	if err != nil || get(reply, "writeErrors") == nil {
		return reply, err
	}
	return bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: int32(112)}, {Key: "errmsg", Value: "WriteConflict"}, {Key: "errorLabels", Value: bson.A{"TransientTransactionError"}}}, nil
}

func (s *aSet) take(tx string) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.txs[tx]
	delete(s.txs, tx)
	return h
}

// happened tells the streams which documents an update named.
func (s *aSet) happened(c bson.D) {
	updates, _ := get(c, "updates").(bson.A)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range updates {
		u, _ := one.(bson.D)
		q, _ := get(u, "q").(bson.D)
		if id, named := get(q, "_id").(string); named {
			s.events = append(s.events, id)
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// more waits a little for events. All streams of a test share them.
func (s *aSet) more() bson.D {
	s.mu.Lock()
	changed, events := s.changed, s.events
	s.events = nil
	s.mu.Unlock()
	if len(events) == 0 {
		select {
		case <-changed:
		case <-time.After(20 * time.Millisecond):
		}
	}
	var batch bson.A
	for i, id := range events {
		batch = append(batch, bson.D{{Key: "_id", Value: bson.D{{Key: "at", Value: i}}}, {Key: "documentKey", Value: bson.D{{Key: "_id", Value: id}}}})
	}
	return stream("nextBatch", batch)
}
