package cli

import (
	"context"
	"io"
	"time"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// Config is what the command line is run with.
type Config struct {
	Open    func(context.Context, Settings) (*App, error)
	Demo    func(context.Context, Settings, Tell) (DemoReport, error)
	Bench   func(context.Context, BenchOptions, Tell) (BenchReport, error)
	Version string
	Now     func() time.Time // to read "since 1h"
	Getenv  func(name string) (string, bool)

	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Tell is called with a line for people, e.g. a step of the demo.
type Tell func(line string)

// Settings says which store is to be opened and what for.
type Settings struct {
	Store       string // the DSN; "" where a command makes do without one
	TablePrefix string
	LogLevel    string
	Log         io.Writer
	Work        *WorkSettings // nil: nothing will be run
}

// WorkSettings is how jobs are to be run. What is zero is the runner's default.
type WorkSettings struct {
	Queues           map[string]int // queue to workers; empty: all queues
	Concurrency      int
	Lease            time.Duration
	Poll             time.Duration
	Upkeep           time.Duration
	StopTimeout      time.Duration
	ExitsWithin      time.Duration
	Abandon          bool // what has not ended by StopTimeout is left to its lease
	NoPrefetch       bool
	NoPrune          bool
	PruneEvery       time.Duration
	Keep             domain.Retention // of ended jobs that do not say how long they stay
	AllowExec        bool
	HTTPAllowPrivate bool
	Config           string // a file with schedules; "": none
}

// App is an opened Rowlock.
type App struct {
	Enqueuer  driving.Enqueuer
	Inspector driving.Inspector
	Operator  driving.Operator
	Bulk      driving.BulkOperator
	Bounds    driving.Bounds
	Batches   driving.Batches
	Schedules driving.Schedules
	Switches  driving.Switches
	Pruner    driving.Pruner
	Worker    driving.Worker // nil without Settings.Work
	Kinds     []string       // that Worker handles
	Schema    driving.Schema // nil: there is nothing to install
	Fresh     bool           // the store is new and empty: it may be migrated unasked
	Close     func() error
}

// DemoReport sums up the demo: Enqueued = Done + Dead + Cancelled + Waiting.
type DemoReport struct {
	Enqueued  int `json:"enqueued"`
	Done      int `json:"done"`
	Dead      int `json:"dead"`
	Cancelled int `json:"cancelled"`
	Waiting   int `json:"waiting"`

	Existing int     `json:"existing"` // enqueues answered by a job that was there
	Retried  int     `json:"retried"`  // jobs that were done after a failure
	Stalled  int     `json:"stalled"`  // jobs that were put back after a crash
	Ticks    int     `json:"ticks"`    // jobs that a schedule added
	Seconds  float64 `json:"seconds"`
}

// BenchOptions is how long to measure.
type BenchOptions struct {
	Jobs   int
	Rounds int
}

// BenchReport is what was measured: processor time of this process, the median round of each way.
type BenchReport struct {
	Store   string      `json:"store"`
	Jobs    int         `json:"jobs"`
	Rounds  int         `json:"rounds"`
	Workers int         `json:"workers"`
	FloorUS float64     `json:"floor_us_per_job"` // the bare loop that claims and settles
	Cases   []BenchCase `json:"cases"`
}

// BenchCase is one measured way.
type BenchCase struct {
	Name          string  `json:"name"`
	USPerJob      float64 `json:"us_per_job"`
	Ratio         float64 `json:"ratio"` // the floor's time by this one's: 1 is as cheap as the bare loop
	JobsPerSecond float64 `json:"jobs_per_second"`
}
