package mongostore_test

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/rowlock/rowlock/adapters/driven/mongostore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/test/servers"
)

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  mongostore.Config
		want domain.Code
	}{
		"no URI":       {mongostore.Config{}, domain.Invalid},
		"a bad URI":    {mongostore.Config{URI: "mongodb://u:geheim@"}, domain.Invalid},
		"a bad prefix": {mongostore.Config{URI: "mongodb://127.0.0.1:1/", CollectionPrefix: "a.$b"}, domain.Invalid},
		"a database":   {mongostore.Config{URI: "mongodb://127.0.0.1:1/", Database: "a.b"}, domain.Invalid},
		"no server":    {mongostore.Config{URI: "mongodb://u:geheim@127.0.0.1:1/?serverSelectionTimeoutMS=100"}, domain.Unavailable},
	} {
		_, err := mongostore.Open(t.Context(), c.cfg)
		if domain.CodeOf(err) != c.want || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// What the deployment can do is told by hello, never by trying: a stand-alone
// server has no transactions, and some take a transaction's writes all the same.
func TestCapabilitiesFollowHello(t *testing.T) {
	t.Parallel()
	alone := servers.Mongo(t)
	_, set := newSet(t, alone)
	for _, uri := range []string{alone, set} {
		var hello struct {
			SetName string `bson:"setName"`
		}
		if err := connect(t, uri).Database("admin").RunCommand(t.Context(), bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
			t.Fatal(err)
		}
		is := hello.SetName != ""
		b := opened(t, mongostore.Config{URI: uri})
		if (b.Tx != nil) != is || (b.Notify != nil) != is || b.Limits.AtomicBulk != is {
			t.Errorf("of set %q: %+v", hello.SetName, b)
		}
	}
}

// A session in the caller's context is not the store's: only Session is.
func TestSessionOfTheContextIsLeftAlone(t *testing.T) {
	t.Parallel()
	_, uri := newSet(t, servers.Mongo(t))
	client := connect(t, uri)
	b, err := mongostore.FromClient(t.Context(), client, mongostore.Config{Database: database(t, uri)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Schema.Up(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	err = client.UseSession(t.Context(), func(ctx context.Context) error {
		session := mongo.SessionFromContext(ctx)
		if err := session.StartTransaction(); err != nil {
			return err
		}
		if _, err := b.Store.Insert(ctx, jobs(1)); err != nil {
			return err
		}
		return session.AbortTransaction(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(claim(t, b.Store, 5).Jobs); n != 1 {
		t.Errorf("%d jobs are there after the host's rollback, want the one that was not enqueued in its transaction", n)
	}
}

// A session of another client cannot be bound.
func TestForeignSession(t *testing.T) {
	t.Parallel()
	_, uri := newSet(t, servers.Mongo(t))
	b := opened(t, mongostore.Config{URI: uri})
	session, err := connect(t, uri).StartSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.EndSession(t.Context())
	for _, s := range []*mongo.Session{session, nil} {
		if _, err := b.Tx.Bind(mongostore.Session(s)); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("got %v, want invalid", err)
		}
	}
}
