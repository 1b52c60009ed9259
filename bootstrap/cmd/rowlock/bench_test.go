package main

import (
	"errors"
	"testing"
	"time"

	"github.com/rowlock/rowlock/adapters/driving/cli"
)

func TestBenchMeasuresEveryWay(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	lines := 0
	got, err := bench(t.Context(), cli.BenchOptions{Jobs: 1000, Rounds: 2}, func(string) { lines++ })
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Cases) != 5 || lines != 10 || got.FloorUS <= 0 {
		t.Fatalf("%d lines, %+v", lines, got)
	}
	for _, c := range got.Cases {
		if c.USPerJob <= 0 || c.Ratio <= 0 || c.JobsPerSecond <= 0 || c.Name == floorName && c.Ratio != 1 {
			t.Errorf("%+v", c)
		}
	}
}

func TestMedian(t *testing.T) {
	value := func(s sample) float64 { return float64(s.jobs) }
	for _, c := range []struct {
		jobs []int
		want float64
	}{{[]int{5}, 5}, {[]int{9, 1, 4}, 4}, {[]int{8, 2, 4, 100}, 6}} {
		var samples []sample
		for _, n := range c.jobs {
			samples = append(samples, sample{jobs: n})
		}
		if got := median(samples, value); got != c.want {
			t.Errorf("%v: %v", c.jobs, got)
		}
	}
	if got := cpuOf(sample{cpu: 3 * time.Millisecond, jobs: 1000}); got != 3 {
		t.Errorf("3 ms by 1000 jobs: %v us", got)
	}
}

func TestBenchMissesNoJob(t *testing.T) {
	if complete(5, 5) != nil || complete(4, 5) == nil || errors.Is(complete(4, 5), nil) {
		t.Error("a lost job is not told")
	}
}
