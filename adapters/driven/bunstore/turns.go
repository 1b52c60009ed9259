package bunstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// The turns of a job are rows of job_keys, one for each of its keys. What they say
// is derived from the row of the job: whoever changes that writes them anew in the
// same transaction.

type turnTexts struct{ add, place, keys, lock, remove Stmt }

var (
	turnCols = waiterCols
	jobOf    = []Col{{"job", ColID}}
)

func newTurnTexts(d *Dialect) turnTexts {
	c := d.Marks.Compile
	return turnTexts{
		add:   c(AddTurnsText(d)),
		place: c(PlaceTurnsText(d)),
		keys: c(d.Forms.Select(Select{
			Columns: "j.job, j.bound, j.place", From: d.Table("job_keys"), Join: d.Words.Rows("$2", idCols), Where: "j.job = o.id",
		})),
		lock: c(d.Forms.Select(Select{
			Columns: "j.id", From: d.Table("jobs"), Join: d.Words.Rows("$2", idCols), Where: "j.id = o.id", Lock: Wait,
		})),
		remove: c(d.Forms.Delete(Delete{Table: d.Table("job_keys"), Cols: []string{"job"}, From: d.Words.Rows("$2", jobOf)})),
	}
}

// AddTurnsText writes the turns of jobs that were just inserted. Each key has its
// place from the row of its job, which has it from the clock of another statement.
func AddTurnsText(d *Dialect) string {
	return "INSERT INTO " + d.Table("job_keys") + " (job, bound, place) " + d.Forms.Select(Select{
		Columns: "j.id, o.bound, j.run_at", From: d.Table("jobs"), Join: d.Words.Rows("$2", turnCols), Where: "j.id = o.id",
	})
}

// PlaceTurnsText brings the turns of the jobs $2 to where their rows say: no place
// once they are over, unless a dead one blocks its chains. The rows of the jobs are
// locked by whoever runs it.
func PlaceTurnsText(d *Dialect) string {
	source := d.Forms.Select(Select{
		Columns: "j.id, " +
			"CASE WHEN j.state < 4 OR (j.state = 5 AND j.on_dead = 1) THEN CASE WHEN j.turn = 2 THEN j.due_at ELSE j.run_at END END AS place, " +
			"CASE WHEN j.state = 5 AND j.on_dead = 1 THEN 1 END AS blocks",
		From: d.Table("jobs"), Join: d.Words.Rows("$2", idCols), Where: "j.id = o.id",
	})
	return d.Forms.Update(Update{
		Table: d.Table("job_keys"), From: "(" + source + ")", Where: "j.job = o.id",
		Set: []Assign{{"place", "o.place"}, {"blocks", "o.blocks"}},
	})
}

// insertTurns gives those of the rows that are new their turns.
func (s *Store) insertTurns(ctx context.Context, c Conn, rows []NewRow, fresh []bool) error {
	type turn struct {
		id  domain.JobID
		key string
	}
	var all []turn
	for i := range rows {
		if n := rows[i].Job; n.Turn != domain.NoTurn && fresh[i] {
			for _, key := range n.TurnKeys() {
				all = append(all, turn{n.ID, key})
			}
		}
	}
	for _, part := range chunks(all, s.d.Chunk, func(t *turn) int { return 50 + len(t.key) }) {
		var a Array
		for _, t := range part {
			a.Row().ID(t.id).Text(t.key)
		}
		if _, err := s.exec(ctx, c, s.t.turns.add, s.now(), a.String()); err != nil {
			return err
		}
	}
	return nil
}

// follow has the turns of jobs follow what became of these. The rows of all of them
// are locked: else another could change one, and its turns, between our look and
// our write.
func (s *Store) follow(ctx context.Context, c Conn, ids []domain.JobID) error {
	slices.SortFunc(ids, domain.JobID.Compare)
	for _, part := range s.idParts(ids) {
		if _, err := s.exec(ctx, c, s.t.turns.place, s.now(), idRows(part)); err != nil {
			return err
		}
	}
	return nil
}

// lockJobs locks the rows of jobs that the caller may not have written.
func (s *Store) lockJobs(ctx context.Context, c Conn, ids []domain.JobID) error {
	slices.SortFunc(ids, domain.JobID.Compare)
	for _, part := range s.idParts(ids) {
		if _, err := s.ids(ctx, c, s.t.turns.lock, []any{nil, idRows(part)}); err != nil {
			return err
		}
	}
	return nil
}

// turnsOf are the claims whose jobs take turns.
func turnsOf(batch []driven.Outcome) (all []domain.Ticket) {
	for i := range batch {
		if batch[i].Turn {
			all = append(all, batch[i].Ticket)
		}
	}
	return all
}

func jobsOf(tickets []domain.Ticket) []domain.JobID {
	ids := make([]domain.JobID, len(tickets))
	for i, t := range tickets {
		ids[i] = t.ID
	}
	return ids
}

// heldOf looks which claims are held. The rows of some jobs are locked first: another
// try of this call must not come between the look and the update.
func (s *Store) heldOf(ctx context.Context, c Conn, look []domain.Ticket, lock []domain.JobID) (map[domain.Ticket]bool, error) {
	if err := s.lockJobs(ctx, c, lock); err != nil {
		return nil, err
	}
	return s.matched(ctx, c, s.t.held, look)
}

func setOf(tickets []domain.Ticket) map[domain.Ticket]bool {
	set := make(map[domain.Ticket]bool, len(tickets))
	for _, t := range tickets {
		set[t] = true
	}
	return set
}

func ticketsOf(batch []driven.Outcome) []domain.Ticket {
	tickets := make([]domain.Ticket, len(batch))
	for i := range batch {
		tickets[i] = batch[i].Ticket
	}
	return tickets
}

// bounded says whether anything but the rows of the jobs has to be written.
func bounded(batch []driven.Outcome) bool {
	return slices.ContainsFunc(batch, func(o driven.Outcome) bool { return o.Turn || len(o.Slots) > 0 })
}

// removeTurns removes the turns of jobs that are gone.
func (s *Store) removeTurns(ctx context.Context, c Conn, ids []domain.JobID) error {
	for _, part := range s.idParts(ids) {
		if _, err := s.exec(ctx, c, s.t.turns.remove, nil, idRows(part)); err != nil {
			return err
		}
	}
	return nil
}

// turnKeys reads the stored keys of jobs that take turns, in byte order.
func (s *Store) turnKeys(ctx context.Context, c Conn, ids []domain.JobID) (map[domain.JobID][]string, error) {
	keys, cell := make(map[domain.JobID][]string, len(ids)), newCells(3)
	for _, part := range s.idParts(ids) {
		err := s.each(ctx, c, s.t.turns.keys, []any{nil, idRows(part)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			id := domain.JobID(cell.id(0))
			keys[id] = append(keys[id], cell.text(1))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, list := range keys {
		slices.Sort(list)
	}
	return keys, nil
}

// ownKeys are the keys of one job as it was given them.
func (s *Store) ownKeys(ctx context.Context, c Conn, id domain.JobID) (own []string, err error) {
	stored, err := s.turnKeys(ctx, c, []domain.JobID{id})
	for _, key := range stored[id] {
		if k, ok := domain.ParseBoundKey(key); ok {
			own = append(own, k.Key)
		}
	}
	return own, err
}

func (s *Store) idParts(ids []domain.JobID) [][]domain.JobID {
	return chunks(ids, s.d.Chunk, func(*domain.JobID) int { return 40 })
}
