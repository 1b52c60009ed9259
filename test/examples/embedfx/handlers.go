package main

import (
	"context"
	"fmt"
	"io"

	"go.uber.org/fx"

	"github.com/rowlock/rowlock/application/enqueue"
	"github.com/rowlock/rowlock/application/work"
)

// Welcome asks for a mail to a new user.
type Welcome struct {
	Name string `json:"name"`
}

// Kind names the sort of job.
func (Welcome) Kind() string { return "welcome" }

// EnqueueOptions are those of every job of the kind.
func (Welcome) EnqueueOptions() []enqueue.Option { return []enqueue.Option{enqueue.Queue("mail")} }

// Farewell asks for the last mail.
type Farewell struct {
	Name string `json:"name"`
}

// Kind names the sort of job.
func (Farewell) Kind() string { return "farewell" }

// Mailer is a dependency of the handlers.
type Mailer struct{ out io.Writer }

func newMailer(out io.Writer) *Mailer { return &Mailer{out} }

// Send sends a mail.
func (m *Mailer) Send(name, text string) error {
	_, err := fmt.Fprintf(m.out, "mail to %s: %s\n", name, text)
	return err
}

// Welcomer is a handler that enqueues: the client needs no handler, so there is
// no cycle.
type Welcomer struct {
	mail *Mailer
	jobs *enqueue.Client
}

func newWelcomer(mail *Mailer, jobs *enqueue.Client) *Welcomer { return &Welcomer{mail, jobs} }

// Work does the work.
func (w *Welcomer) Work(ctx context.Context, j work.Job[Welcome]) error {
	if err := w.mail.Send(j.Args.Name, "welcome"); err != nil {
		return err
	}
	_, _, err := w.jobs.Enqueue(ctx, Farewell{j.Args.Name}, enqueue.Queue("mail"), enqueue.Unique("farewell:"+j.Args.Name))
	return err
}

// Fareweller sends the last mail and shuts the app down.
type Fareweller struct {
	mail *Mailer
	app  fx.Shutdowner
}

func newFareweller(mail *Mailer, app fx.Shutdowner) *Fareweller { return &Fareweller{mail, app} }

// Work does the work.
func (f *Fareweller) Work(_ context.Context, j work.Job[Farewell]) error {
	if err := f.mail.Send(j.Args.Name, "farewell"); err != nil {
		return err
	}
	return f.app.Shutdown()
}
