package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/rowlock/rowlock/domain"
)

// maxLine is the longest line of a file: args at their limit and room for the rest.
const maxLine = domain.MaxArgs + 256<<10

// errLongLine is a line over maxLine. It was read to its end, so the next one can be read.
var errLongLine = errors.New("the line is too long")

// lineReader reads lines of bounded length, counting them.
type lineReader struct {
	r   *bufio.Reader
	n   int // of the last line
	buf []byte
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// next gives the next line that is not blank, without its end, good until the
// next call; io.EOF after the last.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		if l.n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF")) // the mark that some editors put first
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *lineReader) line() ([]byte, error) {
	l.buf = l.buf[:0]
	long, some := false, false
	for {
		part, err := l.r.ReadSlice('\n')
		some = some || len(part) > 0
		if long = long || len(l.buf)+len(part) > maxLine; !long {
			l.buf = append(l.buf, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || !some) {
			return nil, err
		}
		l.n++
		if long {
			return nil, errLongLine
		}
		return l.buf, nil
	}
}
