package mssqlstore

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/domain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConfigIsChecked(t *testing.T) {
	const dsn = "sqlserver://sa:p@localhost"
	bad := []Config{
		{DSN: ""},
		{DSN: "  "},
		{DSN: "sqlserver://sa:p@localhost:port"},
		{DSN: dsn, TablePrefix: "a]b"},
		{DSN: dsn, TablePrefix: "1a"},
		{DSN: dsn, TablePrefix: "a b"},
		{DSN: dsn, TablePrefix: strings.Repeat("p", 41)},
		{DSN: dsn, Schema: strings.Repeat("s", 65)},
		{DSN: dsn, Schema: "a\nb"},
		{DSN: dsn, Schema: "{prefix}"},
		{DSN: dsn, Schema: "$1"},
		{DSN: dsn, Schema: "\xff"},
	}
	for _, cfg := range bad {
		_, err := Open(t.Context(), cfg)
		wantCode(t, err, domain.Invalid)
	}
	_, err := FromDB(nil, Config{})
	wantCode(t, err, domain.Invalid)
}

func TestNamesAreQuoted(t *testing.T) {
	cfg, err := Config{Schema: "odd ] sch'ema", TablePrefix: "p_"}.check()
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.table("jobs"); got != "[odd ]] sch'ema].[p_jobs]" {
		t.Errorf("the table is %s", got)
	}
	if got := literal(cfg.Schema); got != "N'odd ] sch''ema'" {
		t.Errorf("the literal is %s", got)
	}
	if got := lockText(cfg); !strings.Contains(got, "N'rowlock migrate [odd ]] sch''ema].[p_]'") {
		t.Errorf("the lock is %s", got)
	}
}

func TestDSN(t *testing.T) {
	url, err := parseDSN("sqlserver://us%40er:p%3Ass@db.example:1444?database=app&encrypt=disable&app+name=mine")
	if err != nil {
		t.Fatal(err)
	}
	if url.Host != "db.example" || url.Port != 1444 || url.User != "us@er" || url.Password != "p:ss" || url.Database != "app" || url.AppName != "mine" {
		t.Errorf("the URL was read as %+v", url)
	}
	ado, err := parseDSN("server=db.example;user id=sa;password=x;database=app")
	if err != nil || ado.Host != "db.example" || ado.Database != "app" || ado.AppName != "rowlock" {
		t.Errorf("the other form was read as %+v (%v)", ado, err)
	}
	for _, dsn := range []string{"sqlserver://sa:geheim@host:no-port", "sqlserver://sa:geheim@host?encrypt=perhaps", "odbc:server={geheim"} {
		_, err := parseDSN(dsn)
		wantCode(t, err, domain.Invalid)
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("the fault shows the password: %v", err)
		}
	}
}

// A server that is not there is told at once, and so is the end of the context.
func TestNoServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := Open(ctx, Config{DSN: "sqlserver://sa:geheim@127.0.0.1:1?dial+timeout=5"})
	wantCode(t, err, domain.Unavailable)
	if err != nil && strings.Contains(err.Error(), "geheim") {
		t.Errorf("the fault shows the password: %v", err)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	_, err = Open(gone, Config{DSN: "sqlserver://sa:geheim@127.0.0.1:1"})
	wantCode(t, err, domain.Canceled)
}
