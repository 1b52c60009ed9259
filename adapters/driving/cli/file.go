package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rowlock/rowlock/domain"
)

// maxTold is how many bad lines a report names.
const maxTold = 20

// fileView is the report of a file.
type fileView struct {
	File        string        `json:"file"`
	Enqueued    int           `json:"enqueued"`
	Existing    int           `json:"existing"`
	Replaced    int           `json:"replaced"`    // waiting holders of a unique key that became the line's job
	Rescheduled int           `json:"rescheduled"` // and those that were moved to its time
	Refused     int           `json:"refused"`
	LastWritten int           `json:"last_line_written"` // 0: none
	Errors      []lineProblem `json:"errors"`            // the first of the refused
}

// lineProblem is one refused line.
type lineProblem struct {
	Line   int    `json:"line"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

func (v *fileView) refuse(line int, err error) {
	v.Refused++
	if len(v.Errors) < maxTold {
		f := faultOf(err)
		v.Errors = append(v.Errors, lineProblem{Line: line, Path: plain(pathOf(f)), Reason: plain(reasonOf(f))})
	}
}

// enqueueFile reads a file, or standard input.
func (s *shell) enqueueFile(ctx context.Context, name string, base fields, keepGoing bool) error {
	if name == "-" {
		return s.with(ctx, func(ctx context.Context, app *App) error {
			im := &importer{s: s, app: app, base: base, keepGoing: keepGoing, report: fileView{File: "standard input", Errors: []lineProblem{}}}
			return im.end(im.write(ctx, s.Stdin, 0))
		})
	}
	file, err := os.Open(name)
	if err != nil {
		return fileFault(name, err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || info.IsDir() {
		return invalid("open file", name, "it is not a file that can be read")
	}
	return s.with(ctx, func(ctx context.Context, app *App) error {
		im := &importer{s: s, app: app, base: base, keepGoing: keepGoing, report: fileView{File: name, Errors: []lineProblem{}}}
		if !info.Mode().IsRegular() { // it cannot be read twice
			return im.end(im.write(ctx, file, 0))
		}
		return im.end(im.wholeFile(ctx, file))
	})
}

func fileFault(name string, err error) error {
	code := domain.Invalid
	if errors.Is(err, os.ErrNotExist) {
		code = domain.NotFound
	}
	hint := "it cannot be opened"
	var path *os.PathError
	if errors.As(err, &path) {
		hint = path.Err.Error()
	}
	return &domain.Fault{Code: code, Op: "open file", Subject: name, Hint: hint, Err: err}
}

// wholeFile checks the file to its end and then writes it.
func (im *importer) wholeFile(ctx context.Context, file io.ReadSeeker) error {
	total := 0
	if !im.keepGoing {
		var err error
		if total, err = im.check(ctx, file); err != nil || im.report.Refused > 0 {
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return readFault(err)
		}
	}
	return im.write(ctx, file, total)
}

func readFault(err error) error {
	return &domain.Fault{Code: domain.Unavailable, Op: "read file", Hint: "reading failed before its end", Err: err}
}

// end prints the report. Refused lines make the exit code that of bad input.
func (im *importer) end(err error) error {
	r := &im.report
	if err != nil && r.Refused == 0 && r.LastWritten == 0 {
		return err
	}
	if answerErr := im.s.answer(r, im.printed); answerErr != nil {
		return answerErr
	}
	switch {
	case err != nil:
		return &told{code: domain.CodeOf(err), line: fmt.Sprintf("%v (%s)", err, im.lastWritten())}
	case r.Refused > 0:
		return &told{code: domain.Invalid, line: fmt.Sprintf("%s: %s refused; %s", r.File, count(r.Refused, "line"), im.lastWritten())}
	}
	return nil
}

func (im *importer) lastWritten() string {
	switch {
	case im.report.LastWritten == 0:
		return "nothing was written"
	case im.keepGoing && !im.stopped:
		return "the others were written"
	}
	return fmt.Sprintf("the last line written is %d", im.report.LastWritten)
}

// printed is the report for people. The refused lines go to standard error.
func (im *importer) printed(w io.Writer) error {
	r := &im.report
	for _, p := range r.Errors {
		im.s.say("%s:%d: %s: %s", r.File, p.Line, p.Path, p.Reason)
	}
	if more := r.Refused - len(r.Errors); more > 0 {
		im.s.say("%s: and %d more", r.File, more)
	}
	if r.Replaced+r.Rescheduled > 0 {
		return line(w, "enqueued %d, existing %d, replaced %d, rescheduled %d, refused %d", r.Enqueued, r.Existing, r.Replaced, r.Rescheduled, r.Refused)
	}
	return line(w, "enqueued %d, existing %d, refused %d", r.Enqueued, r.Existing, r.Refused)
}

// count is "1 line", "2 lines".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
