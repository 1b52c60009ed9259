package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rowlock/rowlock/test/faults"
	"github.com/rowlock/rowlock/test/storekit"
)

// TestWeather: the way to the server fails at random, in every manner, while jobs are
// added and run. Nothing is lost, nothing is recorded twice, and all is as before soon
// after it is fair again.
func TestWeather(t *testing.T) { onServers(t, []string{"postgres", "mysql", "mongo"}, testWeather) }

func testWeather(t *testing.T, on store) {
	dsn := on.dsn(t, "")
	s := newSite(t)
	way, dsn := storekit.Through(t, dsn)
	s.start(dsn)
	before := s.steady()
	stormy := storm(t, way)
	failed, made := s.failed.Load(), way.Made()
	t.Logf("%.0f/s before; in %v of storm %d errors, %d connections: %s", before, stormy, failed, made, s.tally())
	if most := int64(200 * stormy.Seconds()); failed > most || made > most {
		t.Error("loops spin while the store is away")
	}
	s.back(before)
	s.close()
	way.Close()
	s.left()
}

// storm has bad weather until its time is over, and gives how long that was.
func storm(t *testing.T, way *faults.Proxy) time.Duration {
	total, most := 3*time.Second, 700*time.Millisecond
	if stress() {
		total, most = time.Minute, 3*time.Second
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
	all := []faults.Weather{faults.Refusing, faults.Stalling, faults.Swallowing}
	began := time.Now()
	for n := 0; time.Since(began) < total; n++ {
		way.Set(all[n%len(all)])
		<-time.After(most/10 + time.Duration(dice.Int64N(int64(most))))
		way.Set(faults.Fair)
		for range dice.IntN(4) {
			<-time.After(time.Duration(dice.Int64N(int64(most / 4))))
			way.Cut()
		}
		<-time.After(time.Duration(dice.Int64N(int64(most / 2))))
	}
	return time.Since(began).Round(time.Millisecond)
}
