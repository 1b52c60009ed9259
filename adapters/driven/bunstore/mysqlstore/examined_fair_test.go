package mysqlstore

import "testing"

// TestFairExamined is TestExamined for claims that serve tenants in turn: beside a
// tenant that a tenth of all jobs are of, and the jobs of none.
func TestFairExamined(t *testing.T) {
	onEach(t, func(t *testing.T, dsn string) {
		s, e, _ := installed(t, dsn)
		x := &examiner{T: t, s: s, db: e.db}
		e.db.SetMaxOpenConns(1) // whose counters are read
		x.fill(10)
		for _, names := range [][]string{{"k0"}, kinds(20), {"k3"}} {
			ask := asking(names, 10)
			ask.Fair = true
			x.judge("claim in turn", 105+30*10, func() error { // what a tenant may have aside, and what is taken
				got, err := s.Claim(t.Context(), ask)
				if len(got.Jobs) != 10 {
					t.Errorf("claimed %d jobs", len(got.Jobs))
				}
				return err
			})
		}
	})
}
