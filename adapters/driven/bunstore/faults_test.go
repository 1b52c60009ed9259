package bunstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/rowlock/rowlock/domain"
)

func TestCommonCode(t *testing.T) {
	db := sql.OpenDB(nowhere{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	cases := map[error]domain.Code{
		context.DeadlineExceeded:          domain.Canceled,
		context.Canceled:                  domain.Canceled,
		driver.ErrBadConn:                 domain.Unavailable,
		sql.ErrConnDone:                   domain.Unavailable,
		io.ErrUnexpectedEOF:               domain.Unavailable,
		db.PingContext(t.Context()):       domain.Unavailable,
		sql.ErrTxDone:                     domain.Invalid,
		errors.New("sql: database is..."): "",
	}
	for err, want := range cases {
		if got, _ := CommonCode(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}

// An end of the context is what it is told as, whatever it broke on the way.
func TestAnEndInTheMiddle(t *testing.T) {
	s := &Store{d: Dialect{Codes: Codes{Of: CommonCode}}}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for err, alive := range map[error]domain.Code{
		sql.ErrTxDone: domain.Invalid, driver.ErrBadConn: domain.Unavailable, sql.ErrConnDone: domain.Unavailable, io.EOF: domain.Unavailable,
	} {
		for ctx, want := range map[context.Context]domain.Code{t.Context(): alive, over: domain.Canceled} {
			if got := domain.CodeOf(s.faultOf(ctx, "claim", err, nil)); got != want {
				t.Errorf("%v is %q, want %q", err, got, want)
			}
		}
	}
}
