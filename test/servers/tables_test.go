package servers

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestTables(t *testing.T) {
	for name, fresh := range map[string]func(testing.TB, ...Option) string{"postgres": Postgres, "mysql": MySQL, "mariadb": MariaDB, "mssql": MSSQL, "mongo": Mongo} {
		t.Run(name, func(t *testing.T) {
			dsn := fresh(t)
			if left := Tables(t, dsn); len(left) != 0 {
				t.Errorf("a fresh database has %v", left)
			}
			if strings.HasPrefix(dsn, "mongodb") {
				if _, err := dial(t, dsn).Database(named(dsn)).Collection("things").InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}}); err != nil {
					t.Fatal(err)
				}
			} else {
				Exec(t, dsn, "CREATE TABLE things (n INT)")
			}
			if got := Tables(t, URL(dsn)); !slices.Equal(got, []string{"things"}) {
				t.Errorf("got %v", got)
			}
		})
	}
}
