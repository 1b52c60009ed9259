package sqlitestore

import (
	"context"
	"database/sql"
	"sync"

	"github.com/rowlock/rowlock/adapters/driven/bunstore"
)

// engine is bunstore's way to the database.
type engine struct {
	w     *writer
	read  *sql.DB
	owned []*sql.DB
	once  sync.Once
}

var _ bunstore.Engine = (*engine)(nil)

// newEngine has the file for itself: a writer, and readers beside it. With
// temp_store in memory the journal of a statement is no file that is made anew for
// every claim.
func newEngine(cfg Config) (*engine, error) {
	write, err := open(dsn(cfg.Path, "_pragma", "busy_timeout(0)", "_pragma", "temp_store(MEMORY)", "_pragma", "journal_mode(WAL)", "_pragma", "synchronous("+cfg.Synchronous+")"))
	if err != nil {
		return nil, err
	}
	read, err := open(dsn(cfg.Path, "mode", "ro", "_pragma", "busy_timeout(5000)", "_pragma", "query_only(1)"))
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	return &engine{w: newWriter(&own{db: write}), read: read, owned: []*sql.DB{read, write}}, nil
}

func (e *engine) Write(ctx context.Context, w bunstore.Work) error { return e.w.do(ctx, w) }
func (e *engine) One(ctx context.Context, w bunstore.Work) error   { return e.w.do(ctx, w) }
func (e *engine) Alone(ctx context.Context, w bunstore.Work) error { return e.w.do(ctx, w) }

func (e *engine) Read(ctx context.Context, w bunstore.Work) error {
	if e.w.life.Err() != nil {
		return errClosed
	}
	return w(ctx, e.read)
}

// Close lets the transaction under way end, refuses who waits, and closes what
// Open opened: the readers first, for the last connection of all is the one that
// brings the log into the file, and one that may only read cannot.
func (e *engine) Close() (err error) {
	e.once.Do(func() {
		e.w.close()
		for _, db := range e.owned {
			if e := db.Close(); err == nil {
				err = e
			}
		}
	})
	return err
}
