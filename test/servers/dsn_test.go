package servers

import "testing"

func TestWith(t *testing.T) {
	for _, c := range []struct{ dsn, key, value, want string }{
		{"postgres://u@h/db", "search_path", "a b", "postgres://u@h/db?search_path=a%20b"},
		{"postgres://u@h/db?sslmode=disable", "sslmode", "prefer", "postgres://u@h/db?sslmode=prefer"},
		{"sqlserver://u:p@h?database=x", "database", "y", "sqlserver://u:p@h?database=y"},
		{"u@tcp(h:1)/db", "loc", "Asia/Shanghai", "u@tcp(h:1)/db?loc=Asia%2FShanghai"},
		{"u:p@tcp(h:1)/db?parseTime=true", "sql_mode", "''", "u:p@tcp(h:1)/db?parseTime=true&sql_mode=%27%27"},
	} {
		if got := With(c.dsn, Param(c.key, c.value)); got != c.want {
			t.Errorf("With(%s, %s=%s) = %s, want %s", c.dsn, c.key, c.value, got, c.want)
		}
	}
}

func TestFormsOfMySQL(t *testing.T) {
	driver := "u:p@tcp(h:1)/db?parseTime=true"
	scheme := "mysql://u:p@h:1/db?parseTime=true"
	if got := URL(driver); got != scheme {
		t.Errorf("URL = %s, want %s", got, scheme)
	}
	if got := driverDSN(scheme); got != driver {
		t.Errorf("driverDSN = %s, want %s", got, driver)
	}
	if got := mySQLDSN(t, scheme, "other"); got != "u:p@tcp(h:1)/other?parseTime=true" {
		t.Errorf("with another database: %s", got)
	}
	for _, dsn := range []string{"postgres://u@h/db", "sqlserver://u:p@h?database=x"} {
		if URL(dsn) != dsn || driverDSN(dsn) != dsn {
			t.Errorf("%s is changed to %s, %s", dsn, URL(dsn), driverDSN(dsn))
		}
	}
}
