package mysqlstore

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// TestSessionKeepsStatements: texts that come again are prepared once, at most so
// many of them, and every one of them answers.
func TestSessionKeepsStatements(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) {
		cfg, err := parseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		connector, err := mysql.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(sessions{connector, time.Minute})
		defer func() { _ = db.Close() }()
		db.SetMaxOpenConns(1)
		for round := range 3 {
			for i := range maxSeen / 2 {
				var got int
				if err := db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT ? + %d", i), round).Scan(&got); err != nil || got != round+i {
					t.Fatalf("%d + %d is %d: %v", round, i, got, err)
				}
				if _, err := db.ExecContext(t.Context(), fmt.Sprintf("DO ? + %d", i), round); err != nil {
					t.Fatal(err)
				}
			}
		}
		if kept := keptBy(t, db); kept == 0 || kept > maxKept {
			t.Errorf("%d statements are kept, want at most %d", kept, maxKept)
		}
		var name, level string
		if err := db.QueryRowContext(t.Context(), "SHOW VARIABLES WHERE variable_name IN ('transaction_isolation', 'tx_isolation')").Scan(&name, &level); err != nil || level != "READ-COMMITTED" {
			t.Errorf("the session is %q: %v", level, err)
		}
	})
}

func keptBy(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	err = c.Raw(func(raw any) error {
		n = len(raw.(*session).kept)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestParseDSN: both forms say the same, whatever a password is made of.
func TestParseDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"mysql://u:p%40%2F%3A@h:3307/db?charset=latin1": "u p@/: tcp h:3307 db",
		"mariadb://u@h/my%20db":                         "u  tcp h:3306 my db",
		"mysql://u:p@[::1]:3307/db":                     "u p tcp [::1]:3307 db",
		"mysql://u@/db?socket=/run/mysqld.sock":         "u  unix /run/mysqld.sock db",
		"mysql:///db":                                   "  tcp 127.0.0.1:3306 db",
		"u:p@tcp(h:3307)/db?parseTime=true":             "u p tcp h:3307 db",
	} {
		cfg, err := parseDSN(dsn)
		if err != nil {
			t.Errorf("%s: %v", dsn, err)
			continue
		}
		if got := fmt.Sprint(cfg.User, " ", cfg.Passwd, " ", cfg.Net, " ", cfg.Addr, " ", cfg.DBName); got != want {
			t.Errorf("%s is %q, want %q", dsn, got, want)
		}
	}
}
