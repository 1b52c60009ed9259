package mssqlstore

import (
	"context"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// Alone is one transaction that holds an application lock against every other
// Alone on these tables. However it ends, the server lets go of it with the
// transaction. Nothing but the migrator takes this lock.
func (e *engine) Alone(ctx context.Context, w bunstore.Work) error {
	return e.Write(ctx, func(ctx context.Context, c bunstore.Conn) error {
		if err := able(ctx, c); err != nil {
			return err
		}
		if _, err := c.ExecContext(ctx, lockText(e.cfg)); err != nil {
			return err
		}
		if err := e.lay(ctx, c); err != nil {
			return err
		}
		return w(ctx, c)
	})
}

// notGranted is the error of lockText, among the numbers that are left to users.
const notGranted = 51222

// lockText waits for the lock as long as the context lasts.
func lockText(cfg Config) string {
	return "DECLARE @got INT; EXEC @got = sys.sp_getapplock @Resource = " + literal("rowlock migrate "+cfg.table("")) +
		", @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = -1; " +
		"IF @got < 0 THROW 51222, 'rowlock: the lock of the migrations was not granted', 1;"
}

// lay makes the schema where it is not there.
func (e *engine) lay(ctx context.Context, c bunstore.Conn) error {
	there, look := 0, "SELECT 1 FROM sys.schemas WHERE name = "+literal(e.cfg.Schema)
	if err := bunstore.One(ctx, c, bunstore.Stmt{Text: look}, nil, &there); err != nil || there == 1 {
		return err
	}
	_, err := c.ExecContext(ctx, "CREATE SCHEMA "+quote(e.cfg.Schema))
	return err
}

// ableText asks for what texts are converted by, and for what OPENJSON needs.
const ableText = "SELECT COALESCE(CONVERT(INT, COLLATIONPROPERTY('" + utf8Collation + "', 'CodePage')), 0), CONVERT(INT, d.compatibility_level)" +
	" FROM sys.databases AS d WHERE d.database_id = DB_ID()"

// The code page of UTF-8, and the level of SQL Server 2016.
const (
	utf8Page = 65001
	minLevel = 130
)

// able asks the server whether it can do what the store needs.
func able(ctx context.Context, c bunstore.Conn) error {
	page, level := 0, 0
	if err := bunstore.One(ctx, c, bunstore.Stmt{Text: ableText}, nil, &page, &level); err != nil {
		return err
	}
	hint := ""
	switch {
	case page != utf8Page:
		hint = tooOld
	case level < minLevel:
		hint = "the database's compatibility level is below 130: ALTER DATABASE .. SET COMPATIBILITY_LEVEL = 150"
	default:
		return nil
	}
	return &domain.Fault{Code: domain.Unsupported, Op: "open sqlserver", Hint: hint}
}

const tooOld = "the server knows no UTF-8 collation: SQL Server 2019 or later is needed, or Azure SQL Database"
