package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/domain"
)

// shell is one run of the command line.
type shell struct {
	Config
	settings Settings
	console  *console
	tenant   string
	json     bool
	answered bool // the one JSON document was written
}

func newShell(cfg Config) *shell {
	s := &shell{Config: cfg, console: &console{out: cfg.Stderr}}
	s.Stderr = s.console
	return s
}

// Run runs one command and gives the exit code.
func Run(ctx context.Context, args []string, cfg Config) int {
	s := newShell(cfg)
	root := s.root()
	root.SetArgs(args)
	root.SetIn(s.Stdin)
	root.SetOut(s.Stdout)
	root.SetErr(s.Stderr)
	err := root.ExecuteContext(ctx)
	s.json = s.json || s.wantsJSON(args)
	return s.end(err)
}

// wantsJSON looks for --json and its twin where the flags could not be read.
func (s *shell) wantsJSON(args []string) bool {
	twin, _ := s.Getenv(envName("json"))
	wanted, _ := strconv.ParseBool(twin)
	for _, arg := range args {
		switch value, has := strings.CutPrefix(arg, "--json="); {
		case arg == "--":
			return wanted
		case arg == "--json":
			wanted = true
		case has:
			wanted, _ = strconv.ParseBool(value)
		}
	}
	return wanted
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
	if s.tenant != "" {
		if err := domain.ValidateName("tenant", s.tenant, domain.MaxTenant); err != nil {
			return err
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
