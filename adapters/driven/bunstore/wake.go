package bunstore

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// wakeBound is how many jobs one Wake takes from a key that no longer allows a
// certain number.
const wakeBound = 1000

// Vacancy is a key of a limit or rate with how many may start there.
type Vacancy struct {
	Key  string
	Free int
}

// Waiter is a blocked job that may try again.
type Waiter struct {
	ID    domain.JobID
	Key   string // that it waits for
	Queue string
}

type wakeTexts struct{ turns, waited, allowed, waiters, ready Stmt }

var waiterCols = []Col{{"id", ColID}, {"bound", ColText}}

func newWakeTexts(d *Dialect) wakeTexts {
	c := d.Marks.Compile
	return wakeTexts{
		turns:   c(TurnsText(d)),
		waited:  c(WaitedText(d)),
		allowed: c("SELECT b.sort, b.grp, max(b.n) FROM " + d.Table("bounds") + " AS b GROUP BY b.sort, b.grp"),
		waiters: c(WaitersText(d)),
		ready:   c(ReadyText(d)),
	}
}

// TurnsText finds, for each key $2 of a turn whose slot is free, the job whose turn
// it is if it is blocked on that very key. Only that one may be woken: any other
// would be parked again at once, and so on for ever.
func TurnsText(d *Dialect) string {
	heads := "(SELECT r.bound, " + headText(d, "r.bound") + " AS id FROM " + d.Words.Rows("$2", keyCols) + " AS r" +
		" WHERE NOT " + d.Words.exists("SELECT 1 FROM "+d.Table("slots")+" AS s"+d.Words.Seek+" WHERE s.bound = r.bound AND "+TakenWhere(d, "s")) + ")"
	return d.Forms.Select(Select{
		Columns: "j.id, o.bound, j.queue", From: d.Table("jobs"), Join: heads, Where: "j.id = o.id AND " + waitsWhere,
	})
}

// WaitedText says which of the keys $2 are waited for, and how many of their slots
// are taken.
func WaitedText(d *Dialect) string {
	return "SELECT o.bound, (SELECT count(*) FROM " + d.Table("slots") + " AS s" + d.Words.Seek + " WHERE s.bound = o.bound AND " + TakenWhere(d, "s") + ")" +
		" FROM " + d.Words.Rows("$2", keyCols) + " AS o WHERE " + d.Words.exists(d.Forms.Select(Select{
		Columns: "1", From: d.Table("jobs"), Where: "j.state = 2 AND j.blocked_on = o.bound", Index: "blocked",
	}))
}

// WaitersText finds the first $3 blocked jobs of the key $2.
func WaitersText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.id, j.blocked_on, j.queue", From: d.Table("jobs"), Where: "j.state = 2 AND j.blocked_on = $2",
		Order: "j.priority, j.run_at, j.id", Limit: "$3", Index: "blocked",
	})
}

// ReadyText makes ready what is still blocked on the key that was looked at.
func ReadyText(d *Dialect) string {
	return d.Forms.Update(Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", waiterCols), Where: "j.id = o.id AND " + waitsWhere,
		Set: []Assign{{"state", "0"}, {"blocked_on", "NULL"}},
	})
}

// Wake looks, and writes only what it found. No lock is held between the two: a job
// whose key was taken meanwhile is parked again by its Admit, and then woken by
// whoever frees the key.
func (s *Store) Wake(ctx context.Context, keys []string) (driven.Woken, error) {
	turns, others := map[string]bool{}, map[string]bool{}
	for _, key := range keys {
		if k, ok := domain.ParseBoundKey(key); ok && k.Sort.Turns() {
			turns[key] = true
		} else if ok {
			others[key] = true
		}
	}
	var found []Waiter
	if len(turns) > 0 || len(others) > 0 {
		err := s.read(ctx, "wake", func(ctx context.Context, c Conn) (err error) {
			if found, err = s.turnWaiters(ctx, c, sorted(turns)); err != nil {
				return err
			}
			more, err := s.vacancies(ctx, c, sorted(others))
			found = append(found, more...)
			return err
		})
		if err != nil {
			return driven.Woken{}, err
		}
	}
	return s.ready(ctx, "wake", found)
}

// turnWaiters finds the jobs whose turn it is.
func (s *Store) turnWaiters(ctx context.Context, c Conn, keys []string) (found []Waiter, err error) {
	for _, part := range s.keyParts(keys) {
		some, err := Waiters(ctx, c, s.t.wake.turns, s.now(), keyRows(part))
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// Waiters reads the jobs that a query of three columns, id, key and queue, found.
func Waiters(ctx context.Context, c Conn, st Stmt, values ...any) (found []Waiter, err error) {
	rows, err := c.QueryContext(ctx, st.Text, st.Args(values...)...)
	if err != nil {
		return nil, err
	}
	cell := newCells(3)
	err = Drain(rows, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		found = append(found, Waiter{ID: cell.id(0), Key: cell.text(1), Queue: cell.text(2)})
		return err
	})
	return found, err
}

// vacancies finds as many jobs of limits and rates as may start. What these allow
// is asked only where somebody waits.
func (s *Store) vacancies(ctx context.Context, c Conn, keys []string) (found []Waiter, err error) {
	taken, cell := map[string]int{}, newCells(2)
	for _, part := range s.keyParts(keys) {
		err := s.each(ctx, c, s.t.wake.waited, []any{s.now(), keyRows(part)}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			taken[cell.text(0)] = int(cell.int(1))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(taken) == 0 {
		return nil, nil
	}
	allowed, err := s.allowed(ctx, c)
	if err != nil {
		return nil, err
	}
	var free []Vacancy
	for _, key := range sorted(taken) {
		k, _ := domain.ParseBoundKey(key)
		n := wakeBound // whom nothing holds back
		if most := allowed[groupOf{k.Sort, k.Group}]; most > 0 {
			n = most - taken[key]
		}
		if n > 0 {
			free = append(free, Vacancy{key, n})
		}
	}
	return s.firstWaiters(ctx, c, free)
}

// groupOf is who shares what a limit or rate allows.
type groupOf struct {
	sort domain.BoundSort
	name string
}

// allowed reads what every group allows: there are few, and no job is among them.
func (s *Store) allowed(ctx context.Context, c Conn) (map[groupOf]int, error) {
	most, cell := map[groupOf]int{}, newCells(3)
	err := s.each(ctx, c, s.t.wake.allowed, nil, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		most[groupOf{domain.BoundSort(cell.int(0)), cell.text(1)}] = int(cell.int(2))
		return err
	})
	return most, err
}

func (s *Store) firstWaiters(ctx context.Context, c Conn, free []Vacancy) (found []Waiter, err error) {
	if s.d.Hot.Waiters != nil && len(free) > 0 {
		return s.d.Hot.Waiters(ctx, c, free)
	}
	for _, v := range free {
		some, err := Waiters(ctx, c, s.t.wake.waiters, nil, v.Key, v.Free)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// ready makes blocked jobs ready, those that are still blocked as they were found.
func (s *Store) ready(ctx context.Context, op string, found []Waiter) (woken driven.Woken, err error) {
	if len(found) == 0 {
		return woken, nil
	}
	slices.SortFunc(found, func(a, b Waiter) int { return a.ID.Compare(b.ID) })
	parts := chunks(found, s.d.Chunk, func(w *Waiter) int { return 50 + len(w.Key) })
	run := s.write
	if len(parts) == 1 {
		run = s.one
	}
	queues := map[string]bool{}
	err = run(ctx, op, func(ctx context.Context, c Conn) error {
		woken.Jobs = 0
		for _, part := range parts {
			var a Array
			for _, w := range part {
				a.Row().ID(w.ID).Text(w.Key)
				queues[w.Queue] = true
			}
			n, err := s.exec(ctx, c, s.t.wake.ready, s.now(), a.String())
			if err != nil {
				return err
			}
			woken.Jobs += n
		}
		return nil
	})
	if err != nil || woken.Jobs == 0 {
		return driven.Woken{}, err
	}
	woken.Queues = sorted(queues)
	return woken, nil
}

// sorted are the names of a map in byte order.
func sorted[V any](all map[string]V) []string { return slices.Sorted(maps.Keys(all)) }

func (s *Store) keyParts(keys []string) [][]string {
	return chunks(keys, s.d.Chunk, func(k *string) int { return len(*k) + 4 })
}

func keyRows(keys []string) string {
	a := NewArray(40 * len(keys))
	for _, key := range keys {
		a.Row().Text(key)
	}
	return a.String()
}
