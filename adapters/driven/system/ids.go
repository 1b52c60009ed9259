package system

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/google/uuid"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

type ids struct {
	host string
	pid  int
}

// IDs makes job ids as UUIDv7 that rise within the process, tokens from
// crypto/rand, and runner ids of the form host-pid-random.
func IDs() driven.IDs {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return ids{host: host, pid: os.Getpid()}
}

// NewJobID is a UUIDv7. Must cannot fail here: crypto/rand ends the process
// where there is no randomness.
func (ids) NewJobID() domain.JobID {
	return domain.JobID(uuid.Must(uuid.NewV7FromReader(rand.Reader)))
}

// NewBatchID is a UUIDv7 too.
func (i ids) NewBatchID() domain.BatchID { return domain.BatchID(i.NewJobID()) }

func (ids) NewToken() (t domain.Token) {
	rand.Read(t[:])
	return t
}

// NewRunnerID cuts a long host name and never the part that makes the id unique:
// a pid alone comes back in every container.
func (i ids) NewRunnerID() string {
	var random [8]byte
	rand.Read(random[:])
	tail := fmt.Sprintf("-%d-%s", i.pid, hex.EncodeToString(random[:]))
	return domain.CleanText(i.host, domain.MaxRunner-len(tail)) + tail
}
