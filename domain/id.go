package domain

import (
	"bytes"
	"encoding/hex"
	"time"
)

// id128 is the size of every identifier: 16 bytes in a store, UUID text at the edges.
type id128 = [16]byte

type (
	// JobID names one job: a UUIDv7, so that ids rise with time.
	JobID id128
	// BatchID names one batch.
	BatchID id128
	// Token is the fencing token of one claim. It is fresh for each claim and
	// guards every later write of that attempt.
	Token id128
)

// String is the id as UUID text, in lower case.
func (id JobID) String() string { return formatID(id) }

// String is the id as UUID text, in lower case.
func (id BatchID) String() string { return formatID(id) }

// IsZero says whether the id was never set.
func (id JobID) IsZero() bool { return id == JobID{} }

// IsZero says whether the id was never set.
func (id BatchID) IsZero() bool { return id == BatchID{} }

// IsZero says whether there is no token.
func (t Token) IsZero() bool { return t == Token{} }

// Compare orders ids by their bytes, hence by the time they were made.
func (id JobID) Compare(other JobID) int { return bytes.Compare(id[:], other[:]) }

// Time is the moment inside a UUIDv7, in UTC, to the millisecond.
func (id JobID) Time() time.Time {
	var ms int64
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC()
}

// MarshalText gives the UUID text.
func (id JobID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads UUID text.
func (id *JobID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseJobID(string(text))
	return err
}

// MarshalText gives the UUID text.
func (id BatchID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// ParseJobID reads a job id from its UUID text. The answer is an Invalid fault for anything else.
func ParseJobID(text string) (JobID, error) {
	id, ok := parseID(text)
	if !ok || id == (id128{}) {
		return JobID{}, &Fault{
			Code: Invalid, Op: "parse job id", Subject: CleanText(text, 80),
			Hint: "give the id as UUID text, as `rowlock jobs list` prints it",
		}
	}
	return JobID(id), nil
}

func formatID(id id128) string {
	var text [36]byte
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

func parseID(text string) (id id128, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return id, false
	}
	var digits [32]byte
	copy(digits[0:], text[0:8])
	copy(digits[8:], text[9:13])
	copy(digits[12:], text[14:18])
	copy(digits[16:], text[19:23])
	copy(digits[20:], text[24:36])
	n, err := hex.Decode(id[:], digits[:])
	return id, err == nil && n == len(id)
}
