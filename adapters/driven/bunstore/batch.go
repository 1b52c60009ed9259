package bunstore

import "errors"

// chunks cuts a list into pieces that one statement can take.
func chunks[T any](all []T, c Chunk, size func(*T) int) (out [][]T) {
	from, bytes := 0, 0
	for i := range all {
		n := size(&all[i])
		if i > from && (i-from >= c.Rows || bytes+n > c.Bytes) {
			out = append(out, all[from:i])
			from, bytes = i, 0
		}
		bytes += n
	}
	if from < len(all) {
		out = append(out, all[from:])
	}
	return out
}

// halve runs a batch, and where it is refused for its data its halves, until the
// bad one stands alone and is handed over. Any other error ends it.
func halve[T any](batch []T, refused func(error) bool, run func([]T) error, bad func(T)) error {
	err := run(batch)
	if err == nil || !refused(err) {
		return err
	}
	if len(batch) == 1 {
		bad(batch[0])
		return nil
	}
	mid := len(batch) / 2
	if err := halve(batch[:mid], refused, run, bad); err != nil {
		return err
	}
	return halve(batch[mid:], refused, run, bad)
}

// refused says whether a value was refused, whatever fault the error became.
func (s *Store) refused(err error) bool {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if s.d.Codes.Refused(e) {
			return true
		}
	}
	return false
}
