package sqlitestore

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/rowlock/rowlock/domain"
)

// Fresh says whether there is no file yet, or one in which nothing was ever
// made: no table of anybody's.
func Fresh(ctx context.Context, path string) (bool, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	db, err := open(dsn(path, "mode", "ro", "_pragma", "busy_timeout(5000)"))
	if err != nil {
		return false, err
	}
	var tables int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	_ = db.Close() // nothing was written
	if err != nil {
		code, hint := codeOf(err)
		return false, &domain.Fault{Code: code, Op: "look into the file", Subject: domain.CleanText(path, 200), Hint: hint, Err: err}
	}
	return tables == 0, nil
}
