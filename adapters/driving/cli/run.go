package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/rowlock/rowlock/domain"
)

// shell is one run of the command line.
type shell struct {
	Config
	settings Settings
	tenant   string
	json     bool
	answered bool // the one JSON document was written
}

// Run runs one command and gives the exit code.
func Run(ctx context.Context, args []string, cfg Config) int {
	s := &shell{Config: cfg}
	root := s.root()
	root.SetArgs(args)
	root.SetIn(cfg.Stdin)
	root.SetOut(cfg.Stdout)
	root.SetErr(cfg.Stderr)
	err := root.ExecuteContext(ctx)
	s.json = s.json || slices.Contains(args, "--json") // also where the flags could not be read
	return s.end(err)
}

// with opens the store, makes sure that its tables are there, and closes it in the end.
func (s *shell) with(ctx context.Context, do func(context.Context, *App) error) error {
	return s.opened(ctx, func(ctx context.Context, app *App) error {
		if err := s.ensureSchema(ctx, app); err != nil {
			return err
		}
		return do(ctx, app)
	})
}

// opened is with for what works without tables.
func (s *shell) opened(ctx context.Context, do func(context.Context, *App) error) (err error) {
	if s.settings.Store == "" {
		return &domain.Fault{
			Code: domain.Invalid, Op: "open store",
			Hint: "name the store: --store sqlite:app.db, or ROWLOCK_STORE in the environment (only demo and bench work without one)",
		}
	}
	settings := s.settings
	settings.Log = s.Stderr
	app, err := s.Open(ctx, settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	if s.tenant != "" {
		ctx = domain.WithTenant(ctx, s.tenant)
	}
	return do(ctx, app)
}

// ensureSchema migrates a new and empty store, says so, and refuses one that lacks the tables.
func (s *shell) ensureSchema(ctx context.Context, app *App) error {
	if app.Schema == nil {
		return nil
	}
	steps, err := app.Schema.Status(ctx)
	if err != nil {
		return err
	}
	applied, latest := 0, 0
	for _, step := range steps {
		latest = max(latest, step.Number)
		if !step.AppliedAt.IsZero() {
			applied++
		}
	}
	switch {
	case applied == len(steps):
		return nil
	case applied > 0:
		s.say("the schema is older than this program: `rowlock migrate up` brings it to step %d", latest)
		return nil
	case !app.Fresh:
		return &domain.Fault{
			Code: domain.Unsupported, Op: "open store", Subject: "schema",
			Hint: "Rowlock's tables are not in this database: create them with `rowlock migrate up`",
		}
	}
	done, err := app.Schema.Up(ctx, 0)
	if err == nil && len(done) > 0 {
		s.say("the store is new: created its tables (schema step %d)", done[len(done)-1].Number)
	}
	return err
}
