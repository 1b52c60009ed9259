package bunstore

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// nextText finds the next name of a column by one index seek, in one row.
func nextText(d *Dialect, table, col, where, index string) string {
	return "SELECT min(x.name) FROM (" + d.Forms.Select(Select{
		Columns: col + " AS name", From: d.Table(table), Where: where, Order: col, Limit: "1", Index: index,
	}) + ") AS x"
}

// firstDeadText answers the first dead job in place of each of the keys $2.
func firstDeadText(d *Dialect) string {
	return "SELECT o.bound, (" + d.Forms.Select(Select{
		Columns: "j.job", From: d.Table("job_keys"), Where: "j.bound = o.bound AND j.blocks = 1",
		Order: "j.place, j.job", Limit: "1", Index: "blocks",
	}) + ") FROM " + d.Words.Rows("$2", keyCols) + " AS o"
}

// blockedPage is how many keys one statement finds at most.
const blockedPage = 500

// BlockedKeys finds as many keys in one statement as the database can step over by itself,
// until one finds none.
func (s *Store) BlockedKeys(ctx context.Context, after string, limit int) (keys []string, err error) {
	err = s.read(ctx, "list blocked keys", func(ctx context.Context, c Conn) error {
		cell := newCells(1)
		for had := -1; had < len(keys) && len(keys) < limit; {
			had = len(keys)
			err := s.each(ctx, c, s.t.bounds.blocked, []any{nil, after, min(limit-had, blockedPage)}, func(rows *sql.Rows) error {
				err := cell.scan(rows)
				after = cell.text(0)
				keys = append(keys, after)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return keys, err
}

// Heads is one seek for each key.
func (s *Store) Heads(ctx context.Context, keys []string) (heads map[string]domain.JobID, err error) {
	err = s.read(ctx, "list whose turn it is", func(ctx context.Context, c Conn) error {
		heads, err = s.heads(ctx, c, keys)
		return err
	})
	return heads, err
}

func (s *Store) heads(ctx context.Context, c Conn, keys []string) (map[string]domain.JobID, error) {
	turns := map[string]bool{}
	for _, key := range keys {
		if k, _ := domain.ParseBoundKey(key); k.Sort.Turns() {
			turns[key] = true
		}
	}
	heads, cell := make(map[string]domain.JobID, len(turns)), newCells(2)
	for _, part := range s.keyParts(sorted(turns)) {
		err := s.each(ctx, c, s.t.slots.heads, []any{nil, keyRows(part)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			if id := domain.JobID(cell.id(1)); !id.IsZero() { // else nobody has a place there
				heads[cell.text(0)] = id
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// Chains finds the keys one after another, and who blocks them.
func (s *Store) Chains(ctx context.Context, after string, limit int) (chains []domain.Chain, err error) {
	err = s.read(ctx, "list chains", func(ctx context.Context, c Conn) error {
		keys, err := s.names(ctx, c, s.t.bounds.nextChain, after, limit)
		if err != nil {
			return err
		}
		dead, cell := make(map[string]domain.JobID, len(keys)), newCells(2)
		for _, part := range s.keyParts(keys) {
			err := s.each(ctx, c, s.t.bounds.first, []any{nil, keyRows(part)}, func(rows *sql.Rows) error {
				err := cell.scan(rows)
				dead[cell.text(0)] = cell.id(1)
				return err
			})
			if err != nil {
				return err
			}
		}
		for _, key := range keys {
			if job := dead[key]; !job.IsZero() { // else it was released meanwhile
				chains = append(chains, domain.Chain{Key: key, Job: job})
			}
		}
		return nil
	})
	return chains, err
}

// Unchain takes the dead that block the chain out of all their chains, as an
// operator who releases them would have it.
func (s *Store) Unchain(ctx context.Context, key string) (answer driven.Unchained, err error) {
	err = s.write(ctx, "release chain", func(ctx context.Context, c Conn) error {
		dead, err := s.ids(ctx, c, s.t.bounds.dead, []any{nil, key})
		if err != nil {
			return err
		}
		keys, err := s.turnKeys(ctx, c, dead)
		if err != nil {
			return err
		}
		answer = driven.Unchained{Dead: len(dead), Keys: union(keys)}
		for _, part := range s.idParts(dead) {
			if _, err := s.exec(ctx, c, s.t.bounds.lift, nil, idRows(part)); err != nil {
				return err
			}
		}
		return nil
	})
	return answer, err
}

// union is the keys of all jobs, each once, in byte order.
func union(keys map[domain.JobID][]string) []string {
	all := map[string]bool{}
	for _, some := range keys {
		for _, key := range some {
			all[key] = true
		}
	}
	return sorted(all)
}
