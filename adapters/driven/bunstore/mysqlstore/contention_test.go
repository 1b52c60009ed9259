package mysqlstore_test

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/test/storekit"
)

// TestContention: by turns a deadlock and a wait that was too long; in the long form
// each statement has both.
func TestContention(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		h := newSuite(suite{dsn: p.dsn(t), clock: true, pool: 1, faults: true}).open(t)
		deadlock, waited := &mysql.MySQLError{Number: 1213, Message: storekit.Secret}, &mysql.MySQLError{Number: 1205, Message: storekit.Secret}
		storekit.Contention(t, h, 120, storekit.By(deadlock, waited))
		if stress() {
			storekit.Contention(t, h, 120, storekit.By(waited, deadlock))
		}
	})
}

// TestStatements: a call is a few statements, and a plain one of one as ever.
func TestStatements(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		storekit.FewStatements(t, newSuite(suite{dsn: p.dsn(t), clock: true, pool: 1, faults: true}).open(t))
	})
}
