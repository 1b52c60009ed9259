package mysqlstore_test

import (
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/adapters/driven/bunstore/mysqlstore"
	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/storekit"
)

// TestOldServers: one without JSON_TABLE is refused by name, one that cannot skip
// locked rows is taken with the claim that waits.
func TestOldServers(t *testing.T) {
	onEach(t, func(t *testing.T, p product) {
		dsn := p.dsn(t)
		without := func(step int) *faults.Plan {
			plan := faults.NewPlan()
			plan.At(step, faults.Before, faults.Fail(&mysql.MySQLError{Number: 1064}))
			return plan
		}
		_, err := mysqlstore.FromDB(hostDB(t, dsn, without(2)), mysqlstore.Config{})
		wantCode(t, "a server without JSON_TABLE", err, domain.Unsupported, "MariaDB 10.6")

		plan := without(3)
		b := fromDB(t, hostDB(t, dsn, plan), mysqlstore.Config{})
		up(t, b)
		in := storekit.Add(t, b, 3)
		plan.Reset()
		if got := storekit.Claim(t, b, 2); len(got) != 2 || got[0].Job.ID != in[0].ID {
			t.Errorf("claimed %+v", got)
		}
		for _, text := range plan.Statements() {
			if strings.Contains(text, "SKIP") {
				t.Errorf("a server that cannot skip was asked to: %s", text)
			}
		}
	})
}
