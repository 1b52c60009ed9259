package rowlockfx

import (
	"go.uber.org/fx"

	"github.com/rowlock/rowlock/application/work"
)

// registration is a handler on its way to the registry.
type registration func(*work.Registry) error

// Handle adds a handler to the Module without a name: the constructor of a
// work.Worker[T], whose parameters come from the host.
func Handle[T work.Args](constructor any, opts ...work.Option) fx.Option {
	return HandleFor[T]("", constructor, opts...)
}

// HandleFor adds a handler to the Module of that name.
func HandleFor[T work.Args](name string, constructor any, opts ...work.Option) fx.Option {
	register := func(w work.Worker[T]) registration {
		return func(r *work.Registry) error { return work.Register(r, w, opts...) }
	}
	return fx.Module("rowlock.handler",
		fx.Provide(fx.Annotate(constructor, fx.As(new(work.Worker[T]))), fx.Private),
		fx.Provide(fx.Annotate(register, fx.ResultTags(group(name)))),
	)
}

// group is the value group of a module's handlers.
func group(name string) string {
	if name == "" {
		return `group:"rowlock.handlers"`
	}
	return `group:"rowlock.handlers.` + name + `"`
}
