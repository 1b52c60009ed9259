package mysqlstore

import (
	"database/sql"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/servers"
	"github.com/rowlock/rowlock/test/storekit"
)

// TestSessionsThatDied: sessions that died without a word while they rested are found
// out one after the other, and none of them is worked on. The server ends by itself
// those that say nothing.
func TestSessionsThatDied(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) {
		way, dsn := storekit.Through(t, servers.URL(dsn))
		cfg, err := parseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		connector, err := mysql.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(sessions{connector, connectTime})
		defer func() { _ = db.Close() }()
		storekit.Idle(t, db, 4)
		rested := time.NewTimer(2 * restTime)
		way.Set(faults.Swallowing)
		way.Set(faults.Fair)
		<-rested.C
		began := time.Now()
		var seconds string
		err = db.QueryRowContext(t.Context(), "SELECT @@SESSION.wait_timeout").Scan(&seconds)
		if err != nil || seconds != forsaken || time.Since(began) > 4*answerTime {
			t.Errorf("it took %v to find a session, which may be silent for %s s: %v", time.Since(began), seconds, err)
		}
	})
}
