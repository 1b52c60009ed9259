package domain

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// DeriveJobID makes a UUIDv7 of a moment and whatever names the job that Rowlock
// writes by itself: the same again is the same id, so that a repeat is Existing.
func DeriveJobID(at time.Time, names ...[]byte) (id JobID) {
	hash := sha256.New()
	for _, name := range names {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(name)))
		hash.Write(size[:])
		hash.Write(name)
	}
	copy(id[:], hash.Sum(nil))
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(max(at.UnixMilli(), 0)))
	copy(id[:6], ms[2:])
	id[6] = 7<<4 | id[6]&0x0f
	id[8] = 2<<6 | id[8]&0x3f
	return id
}
