package customadapter_test

import (
	"path/filepath"
	"testing"

	"github.com/rowlock/rowlock/test/conformance"
	"github.com/rowlock/rowlock/test/examples/customadapter"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t testing.TB) conformance.Harness {
		clock := conformance.NewClock()
		backend, err := customadapter.Open(customadapter.Config{Path: filepath.Join(t.TempDir(), "jobs.log"), Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = backend.Close() })
		return conformance.Harness{Backend: backend, Advance: clock.Advance}
	})
}
