package mongostore

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/rowlock/rowlock/domain"
)

func TestCodes(t *testing.T) {
	command := func(code int32, labels ...string) error {
		return mongo.CommandError{Code: code, Message: "secret", Labels: labels}
	}
	for name, c := range map[string]struct {
		err  error
		want domain.Code
	}{
		"duplicate key":        {mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 11000}}}, domain.Contended},
		"write conflict":       {command(112), domain.Contended},
		"deadlock":             {command(16908292), domain.Contended},
		"transient":            {command(0, "TransientTransactionError"), domain.Contended},
		"not the primary":      {command(10107), domain.Unavailable},
		"no longer, of old":    {command(10058), domain.Unavailable},
		"shutting down":        {command(11600, "RetryableWriteError"), domain.Unavailable},
		"stepping down":        {command(189), domain.Unavailable},
		"in a bulk":            {mongo.BulkWriteException{WriteErrors: []mongo.BulkWriteError{{WriteError: mongo.WriteError{Code: 10334}}}}, domain.Invalid},
		"too few confirmed it": {mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 64}}, domain.Unavailable},
		"not allowed":          {command(13), domain.Unavailable},
		"no transactions":      {command(20), domain.Unsupported},
		"connection":           {topology.ConnectionError{Wrapped: io.ErrUnexpectedEOF}, domain.Unavailable},
		"no server":            {topology.ServerSelectionError{Wrapped: context.DeadlineExceeded}, domain.Unavailable},
		"closed":               {mongo.ErrClientDisconnected, domain.Unavailable},
		"unknown":              {command(424242), domain.Internal},
	} {
		got := fault(t.Context(), "settle", c.err)
		if domain.CodeOf(got) != c.want || strings.Contains(got.Error(), "secret") || !errors.Is(got, &domain.Fault{Code: c.want}) {
			t.Errorf("%s: got %v, want %s", name, got, c.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := fault(ended, "settle", topology.ConnectionError{}); domain.CodeOf(got) != domain.Canceled || !errors.Is(got, context.Canceled) {
		t.Errorf("after the context ended: %v", got)
	}
	var same *domain.Fault
	if known := (&domain.Fault{Code: domain.Conflict}); !errors.As(fault(ended, "settle", known), &same) || same != known {
		t.Error("a fault is wrapped once more")
	}
}
