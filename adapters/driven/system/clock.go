package system

import (
	"time"

	"github.com/rowlock/rowlock/ports/driven"
)

type clock struct{}

// Clock is the wall clock. Its moments carry the monotonic reading, so the span
// between two of them is right whatever is done to the wall clock meanwhile.
func Clock() driven.Clock { return clock{} }

func (clock) Now() time.Time { return time.Now() }
