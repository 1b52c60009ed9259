package rowlockfx

import (
	"github.com/rowlock/rowlock/application/runner"
	"github.com/rowlock/rowlock/application/upkeep"
	"github.com/rowlock/rowlock/domain"
)

// Option is a setting of a Module.
type Option func(*module)

// Backend names the constructor of the store, e.g. sqlitestore.FromDB: any
// function that answers a driven.Backend, or that and an error. Its parameters
// come from the host. The module closes the backend when the app stops, after
// the runner and before what the constructor was given.
func Backend(constructor any) Option { return func(m *module) { m.backend = constructor } }

// Migrate installs the tables, or brings them up to date, when the app starts.
func Migrate() Option { return func(m *module) { m.migrate = true } }

// Worker runs jobs from the start of the app to its stop. Without it the module
// only enqueues and operates, and no handler is constructed.
func Worker(cfg runner.Config) Option { return func(m *module) { m.worker = &cfg } }

// Upkeep sets how the worker's app looks after crashed runners and old jobs;
// what is zero follows the worker's lease.
func Upkeep(cfg upkeep.Config) Option { return func(m *module) { m.upkeep = cfg } }

// Retention says how long finished jobs stay where neither the job nor its kind
// says so.
func Retention(keep domain.Retention) Option { return func(m *module) { m.keep = keep } }

// Named makes one of several instances. Its services carry the fx name, as in
// `name:"billing"`, and its handlers are those of HandleFor with that name.
func Named(name string) Option { return func(m *module) { m.name = name } }
