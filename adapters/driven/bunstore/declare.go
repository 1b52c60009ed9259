package bunstore

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"math"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

type boundTexts struct{ all, list, add, set, loose, blocked, nextChain, first, dead, lift Stmt }

const declaredColumns = "j.kind, j.sort, j.grp, j.n, j.span, j.declared_at"

var declareCols = []Col{{"kind", ColText}, {"sort", ColInt}, {"grp", ColText}, {"n", ColInt}, {"span", ColInt}}

func newBoundTexts(d *Dialect) boundTexts {
	c, table, source := d.Marks.Compile, d.Table("bounds"), d.Words.Rows("$2", declareCols)
	return boundTexts{
		all: c(d.Forms.Select(Select{Columns: declaredColumns, From: table, Where: "j.n >= 0"})),
		list: c(d.Forms.Select(Select{
			Columns: declaredColumns, From: table, Where: "j.kind > $2", Order: "j.kind, j.sort", Limit: "$3",
		})),
		add: c("INSERT INTO " + table + " (kind, sort, grp, n, span, declared_at) SELECT o.kind, o.sort, o.grp, o.n, o.span, " +
			d.Words.Now + " FROM " + source + " AS o"),
		set: c(d.Forms.Update(Update{
			Table: table, From: source, Where: "j.kind = o.kind AND j.sort = o.sort",
			Set: []Assign{{"grp", "o.grp"}, {"n", "o.n"}, {"span", "o.span"}, {"declared_at", d.Words.Now}},
		})),
		loose:     c(LooseText(d)),
		blocked:   c(d.Forms.Blocked(d)),
		nextChain: c(nextText(d, "job_keys", "j.bound", "j.blocks = 1 AND j.bound > $2", "blocks")),
		first:     c(firstDeadText(d)),
		dead: c(d.Forms.Select(Select{
			Columns: "j.job", From: d.Table("job_keys"), Where: "j.blocks = 1 AND j.bound = $2", Index: "blocks",
		})),
		lift: c(d.Forms.Update(Update{
			Table: d.Table("job_keys"), From: d.Words.Rows("$2", idCols), Where: "j.job = o.id AND j.blocks + 0 = 1", // the id finds it
			Set: []Assign{{"place", "NULL"}, {"blocks", "NULL"}},
		})),
	}
}

// declaration reads a row of declaredColumns.
func (c *cells) declaration() domain.Declaration {
	return domain.Declaration{
		Kind: c.text(0), Sort: domain.BoundSort(c.int(1)), Group: c.text(2), N: int(c.int(3)), Window: span(c.int(4)), At: fromMoment(c.int(5)),
	}
}

// declarations runs a query of declaredColumns.
func (s *Store) declarations(ctx context.Context, c Conn, st Stmt, values ...any) (all []domain.Declaration, err error) {
	cell := newCells(6)
	err = s.each(ctx, c, st, values, func(rows *sql.Rows) error {
		err := cell.scan(rows)
		all = append(all, cell.declaration())
		return err
	})
	return all, err
}

// declaredAt is where a declaration is kept.
type declaredAt struct {
	kind string
	sort domain.BoundSort
}

// Declare reads all that is declared, which is little, and writes what changes.
// Two that share a group and declare at once may not see each other: so it looks
// again after its commit, and whoever looks last makes them one.
func (s *Store) Declare(ctx context.Context, kinds []string, all []domain.Declaration) error {
	err := s.redeclare(ctx, func(stored []domain.Declaration) []domain.Declaration { return fresh(stored, kinds, all) })
	if err != nil {
		return err
	}
	return s.redeclare(ctx, agreed)
}

// redeclare writes what a look at all declarations says is to be changed.
func (s *Store) redeclare(ctx context.Context, change func(stored []domain.Declaration) []domain.Declaration) error {
	var stored, want []domain.Declaration
	err := s.read(ctx, "declare bounds", func(ctx context.Context, c Conn) (err error) {
		stored, err = s.declarations(ctx, c, s.t.bounds.all)
		return err
	})
	if err != nil {
		return err
	}
	if want = change(stored); len(want) == 0 {
		return nil
	}
	return s.write(ctx, "declare bounds", func(ctx context.Context, c Conn) error {
		stored, err := s.declarations(ctx, c, s.t.bounds.all)
		if err != nil {
			return err
		}
		known := make(map[declaredAt]bool, len(stored))
		for _, d := range stored {
			known[declaredAt{d.Kind, d.Sort}] = true
		}
		return s.writeDeclarations(ctx, c, change(stored), known)
	})
}

func (s *Store) writeDeclarations(ctx context.Context, c Conn, want []domain.Declaration, known map[declaredAt]bool) error {
	slices.SortFunc(want, func(a, b domain.Declaration) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Sort, b.Sort))
	})
	for _, part := range chunks(want, s.d.Chunk, func(*domain.Declaration) int { return 400 }) {
		var add, set Array
		adds, sets := 0, 0
		for _, d := range part {
			a := &add
			if known[declaredAt{d.Kind, d.Sort}] {
				a = &set
				sets++
			} else {
				adds++
			}
			a.Row().Text(d.Kind).Int(int64(d.Sort)).Text(d.Group).Int(int64(d.N)).Int(MS(d.Window))
		}
		if sets > 0 {
			if _, err := s.exec(ctx, c, s.t.bounds.set, s.now(), set.String()); err != nil {
				return err
			}
		}
		if adds == 0 {
			continue
		}
		if _, err := s.exec(ctx, c, s.t.bounds.add, s.now(), add.String()); err != nil {
			if s.d.Codes.Unique(err) { // declared since we looked
				return &domain.Fault{Code: domain.Contended, Op: "declare bounds", Hint: "another process declares the same kinds: try again", Err: err}
			}
			return err
		}
	}
	return nil
}

// fresh is what changes by a declaration: what is declared anew, what the kinds have
// no more, and what others of its groups share with it.
func fresh(stored []domain.Declaration, kinds []string, all []domain.Declaration) []domain.Declaration {
	want := make(map[declaredAt]domain.Declaration, len(all))
	for _, d := range all {
		want[declaredAt{d.Kind, d.Sort}] = d
	}
	for _, old := range stored {
		at := declaredAt{old.Kind, old.Sort}
		d, still := want[at]
		switch {
		case still:
		case slices.Contains(kinds, old.Kind):
			d = old
			d.N = 0
		default:
			d = shared(old, all)
		}
		if want[at] = d; d.Same(old) {
			delete(want, at)
		}
	}
	return slices.Collect(maps.Values(want))
}

// shared is a declaration with what others of its group declare.
func shared(d domain.Declaration, all []domain.Declaration) domain.Declaration {
	for _, o := range all {
		if o.Sort == d.Sort && o.Group == d.Group && d.N > 0 && o.N > 0 {
			d.N, d.Window = o.N, o.Window
		}
	}
	return d
}

// agreed is what changes where those of a group differ: the last of them holds for all.
func agreed(stored []domain.Declaration) (want []domain.Declaration) {
	slices.SortFunc(stored, func(a, b domain.Declaration) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Kind, b.Kind)) })
	for _, old := range stored {
		if d := shared(old, stored); !d.Same(old) {
			want = append(want, d)
		}
	}
	return want
}

// Declared lists what was declared.
func (s *Store) Declared(ctx context.Context, after string, limit int) (all []domain.Declaration, err error) {
	err = s.read(ctx, "list declared bounds", func(ctx context.Context, c Conn) error {
		all, err = s.declarations(ctx, c, s.t.bounds.list, nil, after, max(limit, 0))
		return err
	})
	return all, err
}

// LooseText finds, among the first $7 who wait at keys from $2 to $3, at most $6 of kinds
// that do not declare group $5 of sort $4.
func LooseText(d *Dialect) string {
	line := d.Forms.Select(Select{
		Columns: "j.id, j.blocked_on, j.queue, j.kind", From: d.Table("jobs"), Order: "j.blocked_on, j.priority, j.run_at, j.id",
		Where: "j.state = 2 AND j.blocked_on >= $2 AND j.blocked_on < $3", Limit: "$7", Index: "blocked",
	})
	theirs := "SELECT 1 FROM " + d.Table("bounds") + " AS b WHERE b.kind = j.kind AND b.sort = $4 AND b.grp = $5 AND b.n > 0"
	return d.Forms.Select(Select{
		Columns: "j.id, j.blocked_on, j.queue", From: "(" + line + ")", Where: "NOT " + d.Words.exists(theirs), Limit: "$6",
	})
}

// Loosen looks at the lines of every group that is declared, or was.
func (s *Store) Loosen(ctx context.Context, r driven.LoosenRequest) (answer driven.Loosened, err error) {
	var found []Waiter
	limit, depth := max(r.Limit, 0), r.Depth
	if depth == 0 {
		depth = math.MaxInt32
	}
	err = s.read(ctx, "loosen", func(ctx context.Context, c Conn) error {
		all, err := s.declarations(ctx, c, s.t.bounds.all)
		if err != nil {
			return err
		}
		groups := map[string]domain.Declaration{}
		for _, d := range all {
			groups[d.Key("")] = d
		}
		for _, name := range sorted(groups) {
			d := groups[name]
			low, high := d.Range()
			some, err := Waiters(ctx, c, s.t.bounds.loose, nil, low, high, int(d.Sort), d.Group, limit+1-len(found), depth)
			if err != nil {
				return err
			}
			if found = append(found, some...); len(found) > limit {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return answer, err
	}
	answer.More = len(found) > limit
	answer.Woken, err = s.ready(ctx, "loosen", found[:min(len(found), limit)])
	return answer, err
}
