package mssqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowlock/rowlock/domain"
)

func TestCodes(t *testing.T) {
	byCode := map[domain.Code][]int32{
		domain.Contended:   {1205, 1222, 3960, 3961, notGranted},
		domain.Conflict:    {2627, 2601, 2714, 1913},
		domain.Invalid:     {8152, 2628, 515, 547, 220, 245, 8114, 8115, 1946, 13609, 3902, 3903, 3930},
		domain.Denied:      {229, 230, 262, 297, 300, 2760, 15247},
		domain.Unsupported: {208, 207, 334, 1934, 195, 448},
		domain.Unavailable: {
			3906, 3908, 4060, 18456, 40613, 40197, 40501, 10928, 10929, 49918, 49919, 49920, 701, 9002, 1105,
			823, 6005, 596, -2, -1, 233, 10054, 0, 983, 976,
		},
		domain.Internal: {102, 156, 8622, 50000},
	}
	for want, list := range byCode {
		for _, n := range list {
			err := fmt.Errorf("wrapped: %w", mssql.Error{Number: n, Message: "holds a secret"})
			code, hint := codeOf(err)
			if code != want || (hint == "") != (want == domain.Internal) || strings.Contains(hint, "secret") {
				t.Errorf("%d is %q with %q, want %q", n, code, hint, want)
			}
		}
	}
	for _, c := range []struct {
		err  error
		want domain.Code
	}{
		{context.Canceled, domain.Canceled},
		{context.DeadlineExceeded, domain.Canceled},
		{sql.ErrTxDone, domain.Invalid},
		{driver.ErrBadConn, domain.Unavailable},
		{io.EOF, domain.Unavailable},
		{&net.OpError{Op: "read", Err: io.EOF}, domain.Unavailable},
		{mssql.StreamError{InnerError: io.ErrNoProgress}, domain.Unavailable},
		{mssql.ServerError{}, domain.Unavailable},
		{mssql.RetryableError{}, domain.Unavailable},
		{errClosed, domain.Unavailable},
		{&connectError{errors.New("TLS handshake failed")}, domain.Unavailable},
		{errors.New("mssql: deadlock"), domain.Internal},
	} {
		if code, _ := codeOf(fmt.Errorf("wrapped: %w", c.err)); code != c.want {
			t.Errorf("%T %v is %q, want %q", c.err, c.err, code, c.want)
		}
	}
}

// Of several errors the first that is known counts: what follows it is told of
// the statement or the transaction.
func TestFirstErrorCounts(t *testing.T) {
	list := []mssql.Error{{Number: 3621}, {Number: 1205}, {Number: 3998}}
	last := list[2]
	last.All = list
	if code, _ := codeOf(last); code != domain.Contended {
		t.Errorf("a deadlock among others is %q", code)
	}
	login := &connectError{mssql.Error{Number: 18456}}
	if _, hint := codeOf(login); !strings.Contains(hint, "login") {
		t.Errorf("a refused login hints %q", hint)
	}
	ended := fmt.Errorf("commit: %w", context.Canceled)
	if code, _ := codeOf(errors.Join(ended, mssql.Error{Number: 1205})); code != domain.Canceled {
		t.Errorf("the end of the context is %q", code)
	}
}

func TestRefusedAndUnique(t *testing.T) {
	for n, want := range map[int32][2]bool{
		2627: {true, true}, 2601: {true, true}, 8152: {true, false}, 2628: {true, false}, 515: {true, false}, 547: {true, false},
		1205: {}, 3902: {}, 208: {}, 2714: {},
	} {
		err := mssql.Error{Number: n}
		if got := [2]bool{refused(err), unique(fmt.Errorf("wrapped: %w", err))}; got != want {
			t.Errorf("%d: refused and unique are %v, want %v", n, got, want)
		}
	}
	if refused(fmt.Errorf("wrapped: %w", mssql.Error{Number: 515})) || refused(io.EOF) || unique(io.EOF) {
		t.Error("what is no error of the server's own is refused")
	}
}
