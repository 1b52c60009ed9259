package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rowlock/rowlock/domain"
	"github.com/rowlock/rowlock/ports/driving"
)

// The bounds of one chunk, which is one call and one transaction.
const (
	chunkLines = 1000
	chunkBytes = 8 << 20
)

// importer writes the lines of a file, chunk by chunk.
type importer struct {
	s         *shell
	app       *App
	base      fields // for what a line does not name
	keepGoing bool
	stopped   bool // before the end
	report    fileView

	jobs  []domain.NewJob // the chunk that is not written yet
	lines []int           // their lines
	bytes int
	meter *meter
}

// check reads to the end, notes every bad line and writes nothing.
func (im *importer) check(ctx context.Context, r io.Reader) (good int, err error) {
	err = im.each(ctx, r, func(n int, job domain.NewJob, bad error) error {
		if bad != nil {
			im.report.refuse(n, bad)
		} else {
			good++
		}
		return nil
	})
	return good, err
}

// write reads and writes. Without keepGoing the first bad line ends it before its chunk is written.
func (im *importer) write(ctx context.Context, r io.Reader, total int) error {
	im.meter = im.s.meter("enqueue", int64(total))
	defer im.meter.end()
	err := im.each(ctx, r, func(n int, job domain.NewJob, bad error) error {
		if bad != nil {
			im.report.refuse(n, bad)
			if im.keepGoing {
				return nil
			}
			return errStop
		}
		im.jobs, im.lines, im.bytes = append(im.jobs, job), append(im.lines, n), im.bytes+len(job.Args)
		if len(im.jobs) < chunkLines && im.bytes < chunkBytes {
			return nil
		}
		return im.flush(ctx)
	})
	if err == nil {
		err = im.flush(ctx)
	}
	im.stopped = err != nil
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// errStop ends the reading after a line that was reported.
var errStop = errors.New("stop")

// each calls do with every job, or with what is wrong with its line.
func (im *importer) each(ctx context.Context, r io.Reader, do func(n int, job domain.NewJob, bad error) error) error {
	lines := newLineReader(r)
	for {
		text, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !errors.Is(err, errLongLine):
			return readFault(err)
		}
		var job domain.NewJob
		if err == nil {
			job, err = im.read(ctx, text)
		} else {
			err = badField("line", fmt.Errorf("it is longer than %d bytes", maxLine))
		}
		if err := do(lines.n, job, err); err != nil {
			return err
		}
	}
}

func (im *importer) read(ctx context.Context, text []byte) (domain.NewJob, error) {
	f, err := parseLine(text)
	if err != nil {
		return domain.NewJob{}, err
	}
	job, err := f.over(im.base).job()
	if err != nil {
		return job, err
	}
	return job, im.app.Enqueuer.Check(ctx, job)
}

// flush writes the chunk. With keepGoing a chunk that is refused for one of its
// jobs is written one by one.
func (im *importer) flush(ctx context.Context) error {
	if len(im.jobs) == 0 {
		return nil
	}
	added, err := im.app.Enqueuer.Add(ctx, im.jobs)
	switch {
	case err == nil:
		im.tally(added, im.lines)
	case im.keepGoing && refusal(err):
		err = im.oneByOne(ctx)
	default:
		err = fmt.Errorf("lines %d to %d were not written: %w", im.lines[0], im.lines[len(im.lines)-1], err)
	}
	im.meter.add(int64(len(im.jobs)))
	im.jobs, im.lines, im.bytes = nil, im.lines[:0], 0
	return err
}

func refusal(err error) bool {
	code := domain.CodeOf(err)
	return code == domain.Invalid || code == domain.Conflict || code == domain.NotFound
}

// sealedBatch tells a job whose batch takes it no more from one whose key is held.
func sealedBatch(err error, job *domain.NewJob) error {
	if f := faultOf(err); !job.Batch.IsZero() && f.Subject == job.Batch.String() {
		return badField("batch", errors.New(f.Hint))
	}
	return err
}

func (im *importer) oneByOne(ctx context.Context) error {
	for i := range im.jobs {
		added, err := im.app.Enqueuer.Add(ctx, im.jobs[i:i+1])
		switch {
		case err == nil:
			im.tally(added, im.lines[i:i+1])
		case refusal(err):
			im.report.refuse(im.lines[i], sealedBatch(err, &im.jobs[i]))
		default:
			return err
		}
	}
	return nil
}

func (im *importer) tally(added []driving.Added, lines []int) {
	for _, a := range added {
		switch a.Result {
		case domain.Existing:
			im.report.Existing++
		case domain.Replaced:
			im.report.Replaced++
		case domain.Rescheduled:
			im.report.Rescheduled++
		default:
			im.report.Enqueued++
		}
	}
	im.report.LastWritten = lines[len(lines)-1]
}

// pathOf is where in the line a fault lies: the validator of JSON and this
// package name the path, the validators of names and numbers the field.
func pathOf(f *domain.Fault) string {
	switch field, named := strings.CutPrefix(f.Op, "check "); {
	case f.Op == "check JSON", f.Op == "read job":
		return f.Subject
	case f.Code == domain.Conflict:
		return "unique"
	case named && field == "unique key":
		return "unique"
	case named && field == "tag":
		return "tags"
	case named && field == "due time":
		return "after"
	case named && field == "retention":
		return "keep"
	case named && shapeOf(strings.ReplaceAll(field, " ", "_")) != unknown:
		return strings.ReplaceAll(field, " ", "_")
	}
	return "line"
}

func reasonOf(f *domain.Fault) string {
	if f.Code == domain.Conflict {
		return strings.TrimSpace("the key is held by job " + f.Subject)
	}
	if f.Hint == "" {
		return string(f.Code)
	}
	return f.Hint
}
