package sqlitestore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"encoding/hex"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
	"github.com/rowlock/rowlock/domain"
)

// Floor is the least that any queue on this schema must do: bare statements on
// one connection, prepared once, from one goroutine, with rows kept. What the
// store costs is told as a ratio to it.
type Floor struct {
	db                    *sql.DB
	insert, claim, settle *sql.Stmt
	last                  uint64
}

// OpenFloor makes a floor on a file, with the tables and settings of a store.
func OpenFloor(ctx context.Context, cfg Config) (*Floor, error) {
	b, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	_, err = b.Schema.Up(ctx, 0)
	if e := b.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	cfg, _ = cfg.check() // Open found it good
	db, err := open(dsn(cfg.Path, "_txlock", "immediate", "_pragma", "journal_mode(WAL)", "_pragma", "temp_store(MEMORY)", "_pragma", "synchronous("+cfg.Synchronous+")"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	f := &Floor{db: db}
	if err := f.prepare(ctx, `"`+cfg.TablePrefix+`jobs"`); err != nil {
		_ = db.Close() // the first error is the one to tell
		return nil, floorFault("prepare", err)
	}
	return f, nil
}

func (f *Floor) prepare(ctx context.Context, table string) (err error) {
	const now = "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)"
	texts := map[**sql.Stmt]string{
		&f.insert: "INSERT INTO " + table + " (id, state, queue, kind, priority, run_at, due_at, wake_at, created_at, args)" +
			" VALUES (?, 0, 'floor', 'floor', 0, 0, 0, 0, 0, ?)",
		&f.claim: "UPDATE " + table + " SET state = 3, token = ?, runner = 'floor', claimed_at = " + now + ", wake_at = " + now + " + 60000" +
			" WHERE id IN (SELECT id FROM " + table + " WHERE state = 0 AND queue = 'floor' AND kind = 'floor' ORDER BY priority, run_at, id LIMIT 500)" +
			" RETURNING id, attempts, args",
		&f.settle: "UPDATE " + table + " SET state = 4, settled = token, token = NULL, attempts = attempts + 1, finished_at = " + now + "," +
			" wake_at = " + now + " + 86400000 WHERE id IN (SELECT unhex(value) FROM json_each(?)) AND token = ?",
	}
	for st, text := range texts {
		if *st, err = f.db.PrepareContext(ctx, text); err != nil { //nolint:sqlclosecheck // Close closes the pool with them
			return err
		}
	}
	return nil
}

// Insert adds plain rows, 1,000 in a transaction.
func (f *Floor) Insert(ctx context.Context, jobs int) error {
	for jobs > 0 {
		n := min(jobs, 1000)
		if err := f.insertSome(ctx, n); err != nil {
			return floorFault("insert", err)
		}
		jobs -= n
	}
	return nil
}

func (f *Floor) insertSome(ctx context.Context, n int) error {
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()    // after a commit it does nothing
	insert := tx.StmtContext(ctx, f.insert) //nolint:sqlclosecheck // the transaction closes it
	for range n {
		var id [16]byte
		f.last++
		binary.BigEndian.PutUint64(id[:], f.last)
		if _, err := insert.ExecContext(ctx, id[:], `{"n":1}`); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Work claims and settles, 500 at a time, until nothing is left, and says how many.
func (f *Floor) Work(ctx context.Context) (jobs int, err error) {
	for {
		n, err := f.round(ctx)
		if err != nil {
			return jobs, floorFault("work", err)
		}
		if n == 0 {
			return jobs, nil
		}
		jobs += n
	}
}

func (f *Floor) round(ctx context.Context) (n int, err error) {
	token := make([]byte, 16)
	_, _ = rand.Read(token)                       // it never fails
	rows, err := f.claim.QueryContext(ctx, token) //nolint:rowserrcheck // Drain checks it
	if err != nil {
		return 0, err
	}
	ids := []byte{'['}
	err = bunstore.Drain(rows, func(rows *sql.Rows) error {
		var id, args []byte
		var attempts int64
		if err := rows.Scan(&id, &attempts, &args); err != nil {
			return err
		}
		if n++; n > 1 {
			ids = append(ids, ',')
		}
		ids = append(hex.AppendEncode(append(ids, '"'), id), '"')
		return nil
	})
	if err != nil || n == 0 {
		return n, err
	}
	_, err = f.settle.ExecContext(ctx, string(append(ids, ']')), token)
	return n, err
}

// Close closes the file.
func (f *Floor) Close() error { return f.db.Close() }

func floorFault(op string, err error) error {
	code, hint := codeOf(err)
	return &domain.Fault{Code: code, Op: op + " the floor", Hint: hint, Err: err}
}
