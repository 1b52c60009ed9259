package conformance

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// replace: what a call took from a waiting holder is the transaction's: rolled back,
// the holder is what it was; committed, it is the new job.
func hosttxReplace(c *rig) {
	for _, how := range []domain.OnConflict{domain.Replace, domain.Reschedule} {
		result := map[domain.OnConflict]domain.Inserted{domain.Replace: domain.Replaced, domain.Reschedule: domain.Rescheduled}[how]
		holder := c.one(unique("k"), chain("c"), withArgs(`{"n":1}`))
		behind := c.one(chain("c"))
		was := c.get(holder)
		for _, commit := range []bool{false, true} {
			tx, in := c.begin()
			n := c.newcomer(uniqueOr("k", how), after(long))
			got, err := in.Insert(c.Context(), []domain.NewJob{c.job(inQueue("own")), n, c.job(unique("k"), inQueue("own"))})
			c.ok("insert", err)
			equal(c, "answer for the holder", got[1], driven.Inserted{ID: holder, Result: result, Keys: []string{chainKey("c")}})
			equal(c, "answer for its key later in the call", got[2], driven.Inserted{ID: holder, Result: domain.Existing})
			if !commit {
				c.ok("rollback", tx.Rollback())
				equal(c, "the holder after the rollback", c.get(holder), was)
				equal(c, "rows after the rollback", c.count(domain.Filter{}), 2)
				c.held("k", holder)
				continue
			}
			c.ok("commit", tx.Commit())
			c.dueIn(c.inState(holder, domain.Scheduled), was.CreatedAt, long)
			if how == domain.Replace {
				asked := n
				asked.ID = holder
				checkAsked(c, asked, c.get(holder))
			}
		}
		c.over(c.startOnly(behind), done)
		equal(c, "rows", c.count(domain.Filter{}), 3)
		c.wantNil("delete", c.delete(c.list(domain.Filter{})...)...)
	}
}

// unique: callers inside and outside of transactions that want one key at once get
// one row and its id.
func hosttxUnique(c *rig) {
	const callers, inside = 100, 8
	stores := c.handles(callers)
	for round, how := range []domain.OnConflict{domain.Skip, domain.Replace} {
		key := fmt.Sprint("key-", round)
		answers := make([]driven.Inserted, callers)
		var opening sync.Mutex
		c.race(callers, func(i int) (err error) {
			jobs := []domain.NewJob{c.job(uniqueOr(key, how), after(long))}
			var got []driven.Inserted
			if i%(callers/inside) > 0 {
				got, err = stores[i].Insert(c.Context(), jobs)
			} else {
				opening.Lock()
				tx, in := c.begin()
				opening.Unlock()
				if got, err = in.Insert(c.Context(), jobs); err == nil {
					err = tx.Commit()
				} else {
					_ = tx.Rollback()
				}
			}
			if err == nil {
				answers[i] = got[0]
			}
			return err
		})
		c.oneHolder(answers)
		others := slices.DeleteFunc(answers, func(a driven.Inserted) bool { return a.Result == domain.InsertedNew })
		for _, a := range others {
			equal(c, "answer of the others", a.Result, map[domain.OnConflict]domain.Inserted{domain.Skip: domain.Existing, domain.Replace: domain.Replaced}[how])
		}
		equal(c, "rows", c.count(domain.Filter{}), round+1)
	}
}

// batch: a member that was rolled back is none; what a batch refuses leaves the
// transaction as it was.
func hosttxBatch(c *rig) {
	id, sealed := c.batch(), c.batch()
	c.seal(sealed, 0)
	tx, in := c.begin()
	_, err := in.Insert(c.Context(), c.jobs(3, inBatch(id)))
	c.ok("insert", err)
	c.ok("rollback", tx.Rollback())
	tx, in = c.begin()
	first, last := c.job(inBatch(id)), c.job(inBatch(id))
	_, err = in.Insert(c.Context(), []domain.NewJob{first})
	c.ok("insert", err)
	_, err = in.Insert(c.Context(), []domain.NewJob{c.job(), c.job(inBatch(sealed))})
	c.wantCode("insert into a sealed batch", err, domain.Conflict)
	_, err = in.Insert(c.Context(), []domain.NewJob{c.job(inBatch(domain.BatchID(c.id())))})
	c.wantCode("insert into a batch that is not there", err, domain.NotFound)
	_, err = in.Insert(c.Context(), []domain.NewJob{last})
	c.ok("insert after the refusals", err)
	c.ok("commit", tx.Commit())
	equal(c, "members", c.list(domain.Filter{}), []domain.JobID{last.ID, first.ID})
	c.seal(id, 2)
	for _, j := range c.claim(5) {
		c.settled(done(j))
	}
	c.ends(id, 2, 2)
}

// seal: a seal counts the members of a transaction that is open when it is asked for,
// once that ends, and none that are rolled back.
func hosttxSeal(c *rig) {
	for _, commit := range []bool{true, false} {
		id := c.batch()
		c.add(c.jobs(2, inBatch(id), after(long))...)
		tx, in := c.begin()
		_, err := in.Insert(c.Context(), c.jobs(3, inBatch(id), after(long)))
		c.ok("insert", err)
		type answer struct {
			domain.Sealed
			error
		}
		sealed := make(chan answer, 1)
		go func() {
			var got domain.Sealed
			err := uncontended(func() (err error) { got, err = c.store.SealBatch(c.Context(), id, ""); return err })
			sealed <- answer{got, err}
		}()
		wait(50 * time.Millisecond) // it must not be answered meanwhile
		select {
		case got := <-sealed:
			c.Fatalf("the batch was sealed with %d members while a transaction that adds to it is open: %v", got.Total, got.error)
		default:
		}
		end, members := tx.Commit, int64(5)
		if !commit {
			end, members = tx.Rollback, 2
		}
		c.ok("end of the transaction", end())
		got := <-sealed
		c.ok("seal", got.error)
		equal(c, "answer of the seal", got.Sealed, domain.Sealed{Total: members})
		equal(c, "members", c.count(domain.Filter{Batch: id}), int(members))
	}
}
