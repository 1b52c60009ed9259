// Package rowlockfx is Rowlock as an fx module that a host embeds.
//
//	fx.New(
//		fx.Provide(NewZap, NewPool, NewMailer), fx.Supply(sqlitestore.Config{}),
//		rowlockfx.Module(
//			rowlockfx.Backend(sqlitestore.FromDB),
//			rowlockfx.Worker(runner.Config{Queues: runner.Queues{"mail": 50}}),
//		),
//		rowlockfx.Handle[Welcome](NewWelcomer),
//	).Run()
//
// The module gives *enqueue.Client, *batches.Service, *schedules.Service,
// *operate.Service, *operate.Bounds and *inspect.Service to the host; all else is private to it, so a host's own
// backend, clock or observer is no clash. Nothing starts but by Worker. It takes a
// driven.Clock, a driven.IDs, a driven.Observer and a *zap.Logger of the host's
// where there is one. The client does not depend on the handlers, so a handler
// may enqueue.
//
// It may import application, ports, domain, the system, retrystore and zaplog
// adapters, fx and zap. It must not know any store or driver: the host links the one it uses.
package rowlockfx
