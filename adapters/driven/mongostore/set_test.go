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
// stand-alone server. It adds what such a server lacks: transactions of inserts and
// of updates by id (see settx_test.go) and change streams of one collection.
type aSet struct {
	listener net.Listener
	server   string

	mu      sync.Mutex
	txs     map[string]*heldBack
	events  []string // ids of documents that were updated, in their order
	changed chan struct{}
	ended   chan struct{} // closed when a transaction ends
	serving sync.WaitGroup
	conns   []net.Conn
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
	s := &aSet{listener: listener, server: u.Host, txs: map[string]*heldBack{}, changed: make(chan struct{}), ended: make(chan struct{})}
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
		return s.commit(server, tx)
	case name == "abortTransaction":
		s.take(tx)
		return ok(), nil
	case name == "insert" && inTx(c):
		return s.insert(server, c, tx)
	case name == "update" && inTx(c):
		return s.update(server, c, tx)
	case name == "find" && inTx(c):
		return s.find(server, c, tx)
	case name == "aggregate" && watches(c):
		return stream("firstBatch", nil), nil
	case name == "getMore" && cursorOf(c, "getMore"):
		return s.more(), nil
	case name == "update":
		if !s.free(c) {
			return conflict(), nil
		}
		defer s.happened(c)
	case name == "delete" || name == "findAndModify":
		if !s.free(c) {
			return conflict(), nil
		}
	}
	return ask(server, plain(c))
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
