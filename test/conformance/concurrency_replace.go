package conformance

import (
	"fmt"
	"slices"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driven"
)

// replace: of many callers that replace one waiting job each is answered, and the
// row is one caller's job as a whole; a claim meanwhile gets it as one of them, once.
func concurrencyReplace(c *rig) {
	const callers = 100
	stores := c.handles(callers + 1)
	for round := range size(3, 20) {
		key := fmt.Sprint("key-", round)
		answers := make([]driven.Inserted, callers)
		jobs := make([]domain.NewJob, callers)
		for i := range jobs {
			jobs[i] = c.job(uniqueOr(key, domain.Replace), priority(i), withArgs(fmt.Sprint(i)), withTags(fmt.Sprint(i)))
			jobs[i].MaxAttempts = i + 1
		}
		claim := round%2 == 1
		var claimed []driven.Claimed
		c.race(callers+1, func(i int) error {
			if i == callers {
				if !claim {
					return nil
				}
				got, err := stores[i].Claim(c.Context(), c.request(10))
				claimed = got.Jobs
				return err
			}
			got, err := stores[i].Insert(c.Context(), jobs[i:i+1])
			if err == nil {
				answers[i] = got[0]
			}
			return err
		})
		tally := map[domain.Inserted]int{}
		for _, a := range answers {
			equal(c, "id of the answer", a.ID, answers[0].ID)
			tally[a.Result]++
		}
		equal(c, "new rows", tally[domain.InsertedNew], 1)
		if len(claimed) == 0 {
			equal(c, "callers that replaced it", tally[domain.Replaced], callers-1)
		}
		row := c.get(answers[0].ID)
		for _, j := range append(slices.Clone(claimed), driven.Claimed{Job: row}) {
			equal(c, "row", fmt.Sprint(j.Job.ID, " ", string(j.Job.Args), j.Job.Tags, j.Job.MaxAttempts-1),
				fmt.Sprint(row.ID, " ", fmt.Sprint(row.Priority), []string{fmt.Sprint(row.Priority)}, row.Priority))
		}
		for _, j := range append(claimed, c.claim(10)...) {
			c.settled(done(j))
		}
		equal(c, "rows, all done", c.count(domain.Filter{States: []domain.State{domain.Done}}), round+1)
	}
	equal(c, "rows", c.count(domain.Filter{}), size(3, 20))
}
