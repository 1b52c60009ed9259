package servers

import (
	"testing"
)

// What was written is there after a restart, and the server is nobody else's.
func TestOwn(t *testing.T) {
	s := Own(t, "postgres")
	Exec(t, s.DSN, "CREATE TABLE kept (id int)")
	s.Stop()
	if err := Open(t, s.DSN).PingContext(t.Context()); err == nil {
		t.Error("a stopped server answers")
	}
	s.Start()
	db := Open(t, s.DSN)
	for db.PingContext(t.Context()) != nil { // it may not have read its log yet
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO kept VALUES (1)"); err != nil {
		t.Error(err)
	}
}
