package pgstore_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/test/servers"
	"github.com/rowlock/rowlock/test/storekit"
)

// TestContention: a deadlock, a lock that was not to be had, a serialization failure.
func TestContention(t *testing.T) {
	h := suite{dsn: servers.Postgres(t), clock: true, pool: 1, faults: true}.open(t)
	var losses []storekit.Loss
	for _, code := range []string{"40P01", "55P03", "40001"} {
		losses = append(losses, storekit.By(&pgconn.PgError{Code: code, Message: storekit.Secret}))
	}
	storekit.Contention(t, h, 90, losses...)
}

// TestStatements: a call is a few statements, and a plain one of one as ever.
func TestStatements(t *testing.T) {
	storekit.FewStatements(t, suite{dsn: servers.Postgres(t), clock: true, pool: 1, faults: true}.open(t))
}
