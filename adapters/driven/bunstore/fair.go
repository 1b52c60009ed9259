package bunstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

const (
	// fairTenants is how many tenants one claim looks at.
	fairTenants = 32
	// fairAside is how many rows of kinds that were not asked for a tenant may have
	// before its first ones that were.
	fairAside = 100
)

// fairTexts are those of claims that serve tenants in turn. Their index has ready
// rows of tenants alone: a job without a tenant pays nothing for it on its way.
type fairTexts struct{ next, first, pick, take Stmt }

func newFairTexts(d *Dialect) fairTexts {
	c := d.Marks.Compile
	return fairTexts{next: c(FairNextText(d)), first: c(FairFirstText(d)), pick: c(FairPickText(d)), take: c(FairTakeText(d))}
}

// fairWhere chooses the ready rows of a queue that have a tenant. Where an index
// holds every row, a column has the queue of these and of no others.
func fairWhere(d *Dialect, queue string) string {
	if d.Whole {
		return "j.fair = " + queue
	}
	return "j.state = 0 AND j.queue = " + queue + " AND j.tenant <> " + d.Words.empty()
}

// FairNextText finds the first tenant after $2 in the queue $3, by one seek; NULL: none.
func FairNextText(d *Dialect) string {
	return "SELECT min(x.tenant) FROM (" + d.Forms.Select(Select{
		Columns: "j.tenant", From: d.Table("jobs"), Where: fairWhere(d, "$3") + " AND j.tenant > $2",
		Order: "j.tenant", Limit: "1", Index: "fair", Lock: Past,
	}) + ") AS x"
}

// FairFirstText reads the first $4 rows of the tenant $3 in the queue $2, without a lock.
func FairFirstText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: "j.id, j.kind", From: d.Table("jobs"), Where: fairWhere(d, "$2") + " AND j.tenant = $3",
		Order: "j.priority, j.run_at, j.id", Limit: "$4", Index: "fair", Lock: Past,
	})
}

// FairPickText locks those of the rows $2 that are still ready and free.
func FairPickText(d *Dialect) string {
	return d.Forms.Select(Select{
		Columns: ClaimColumns("j.", map[string]string{"claimed_at": d.Words.Now}), From: d.Table("jobs"), Join: d.Words.Rows("$2", idCols),
		Where: "j.id = o.id AND j.state = 0", Lock: Skip,
	})
}

// FairTakeText marks the locked rows as taken, each with its token: $3 runner, $4
// lease, $5 the database's time when it locked them.
func FairTakeText(d *Dialect) string {
	number := func(param string) string { return "CAST(" + param + " AS " + d.Words.BigInt + ")" }
	return d.Forms.Update(Update{
		Table: d.Table("jobs"), From: d.Words.Rows("$2", ticketCols), Where: "j.id = o.id AND j.state = 0",
		Set: []Assign{
			{"state", "3"}, {"token", "o.token"}, {"runner", "$3"}, {"stuck", "0"},
			{"claimed_at", number("$5")}, {"wake_at", number("$5") + " + " + number("$4")},
		},
	})
}

// claimFair gives each tenant in turn its share and what is left to a plain claim,
// all in one transaction. What that takes are the first jobs of all: those without
// a tenant have no other way, so their turn is one of whoever waits longest, and no
// claim comes back with less than there is.
func (s *Store) claimFair(ctx context.Context, r driven.ClaimRequest) (res driven.Claims, err error) {
	err = s.write(ctx, "claim", func(ctx context.Context, c Conn) error {
		now := s.now()
		promoted, err := s.promote(ctx, c, now)
		if err != nil {
			return err
		}
		f := fairClaim{s: s, c: c, now: now, r: r}
		if err := f.serve(ctx); err != nil {
			return err
		}
		res = driven.Claims{}
		if r.N > len(f.jobs) {
			plain := r
			plain.N -= len(f.jobs)
			if res, err = s.claimPlain(ctx, c, now, plain); err != nil {
				return err
			}
		}
		res.Tenant = f.last(len(res.Jobs) > 0)
		res.Jobs = append(f.jobs, res.Jobs...)
		res.More = res.More || promoted >= promoteBound
		sortClaims(res.Jobs)
		return nil
	})
	if err != nil {
		return driven.Claims{}, err
	}
	return res, nil
}

// fairClaim is one such claim at work.
type fairClaim struct {
	s       *Store
	c       Conn
	now     any
	r       driven.ClaimRequest
	tenants []string // whose turn it is, in turn
	jobs    []driven.Claimed
}

// serve takes the shares of the tenants that have a name.
func (f *fairClaim) serve(ctx context.Context) error {
	if err := f.turn(ctx); err != nil {
		return err
	}
	share := (f.r.N + len(f.tenants) - 1) / len(f.tenants)
	left := f.r.N
	var ids []domain.JobID
	for _, tenant := range f.tenants {
		most := min(share, left)
		left -= most
		if tenant == "" || most == 0 {
			continue
		}
		first, err := f.first(ctx, tenant, most)
		if err != nil {
			return err
		}
		ids = append(ids, first...)
		left += most - len(first)
	}
	slices.SortFunc(ids, domain.JobID.Compare) // claims that meet wait for each other, where they wait, and do not deadlock
	for _, part := range f.s.idParts(ids) {
		if err := f.take(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// turn finds the tenants that come after the one served last: in byte order, then
// "", which is always one of them, and then from the first on.
func (f *fairClaim) turn(ctx context.Context) error {
	most := min(f.r.N, fairTenants)
	after, err := f.s.names(ctx, f.c, f.s.t.fair.next, f.r.After, most, f.r.Queue)
	if err != nil {
		return err
	}
	if f.tenants = after; len(f.tenants) == most {
		return nil
	}
	f.tenants = append(f.tenants, "")
	if f.r.After == "" {
		return nil
	}
	before, err := f.s.names(ctx, f.c, f.s.t.fair.next, "", most-len(f.tenants), f.r.Queue)
	for _, tenant := range before {
		if tenant <= f.r.After {
			f.tenants = append(f.tenants, tenant)
		}
	}
	return err
}

// first reads the first rows of a tenant that are of the kinds. Most often all of
// its rows are.
func (f *fairClaim) first(ctx context.Context, tenant string, most int) (ids []domain.JobID, err error) {
	cell := newCells(2)
	for _, look := range []int{most, most + fairAside} {
		seen := 0
		ids = ids[:0]
		err := f.s.each(ctx, f.c, f.s.t.fair.first, []any{nil, f.r.Queue, tenant, look}, func(rows *sql.Rows) error {
			err := cell.scan(rows)
			seen++
			if len(ids) < most && slices.Contains(f.r.Kinds, cell.text(1)) {
				ids = append(ids, cell.id(0))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(ids) == most || seen < look {
			break
		}
	}
	return ids, nil
}

// take locks what is still ready of the ids and marks it as taken.
func (f *fairClaim) take(ctx context.Context, ids []domain.JobID) error {
	pick, take := &f.s.t.fair.pick, &f.s.t.fair.take
	rows, err := f.c.QueryContext(ctx, pick.Text, pick.Args(f.now, idRows(ids))...) //nolint:rowserrcheck // ScanClaims checks it
	if err != nil {
		return err
	}
	jobs, err := ScanClaims(rows, f.r)
	if err != nil || len(jobs) == 0 {
		return err
	}
	var a Array
	for i := range jobs {
		a.Row().ID(jobs[i].Job.ID).ID(jobs[i].Token)
	}
	at := jobs[0].Job.ClaimedAt
	for i := range jobs {
		jobs[i].Job.ClaimedAt = at
	}
	f.jobs = append(f.jobs, jobs...)
	_, err = f.s.exec(ctx, f.c, *take, f.now, a.String(), f.r.Runner, MS(f.r.Lease), at.UnixMilli())
	return err
}

// last is who was served last. Where tenants had nothing of the kinds the next
// claim begins behind those that were looked at, or it would look at them again.
func (f *fairClaim) last(plain bool) string {
	served := map[string]bool{"": plain}
	for i := range f.jobs {
		served[f.jobs[i].Job.Tenant] = true
	}
	for _, tenant := range slices.Backward(f.tenants) {
		if served[tenant] {
			return tenant
		}
	}
	if plain {
		return f.tenants[len(f.tenants)-1]
	}
	return f.r.After
}
