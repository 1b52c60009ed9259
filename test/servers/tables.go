package servers

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// Tables names the tables, or collections, of a database that a function of this
// package made.
func Tables(t testing.TB, dsn string) (names []string) {
	t.Helper()
	var err error
	if strings.HasPrefix(dsn, "mongodb") {
		names, err = collections(t.Context(), dsn)
	} else {
		names, err = tables(t, dsn)
	}
	if err != nil {
		t.Fatalf("list tables: %v", err)
	}
	return names
}

func tables(t testing.TB, dsn string) (names []string, err error) {
	text := map[string]string{
		"pgx":       "SELECT table_name FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')",
		"mysql":     "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
		"sqlserver": "SELECT name FROM sys.objects WHERE is_ms_shipped = 0 AND type IN ('U', 'V')",
	}[driver(dsn)]
	rows, err := Open(t, dsn).QueryContext(t.Context(), text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

func collections(ctx context.Context, uri string) ([]string, error) {
	u, err := connstring.ParseAndValidate(uri)
	if err != nil {
		return nil, err
	}
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	return client.Database(u.Database).ListCollectionNames(ctx, bson.D{})
}
