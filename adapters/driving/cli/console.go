package cli

import (
	"bytes"
	"io"
	"os"
	"sync"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// console is standard error: lines of a log and of errors, and at most one
// progress bar. While a bar is drawn the lines are printed above it, each whole.
type console struct {
	out io.Writer
	mu  sync.Mutex
	bar progress.Writer // nil: none is drawn
}

// Write prints lines.
func (c *console) Write(lines []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bar == nil {
		return c.out.Write(lines)
	}
	c.bar.Log(string(bytes.TrimSuffix(lines, []byte("\n"))))
	return len(lines), nil
}

// show takes a bar in.
func (c *console) show(bar progress.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bar = bar
}

// hide lets end draw the bar for the last time. No line comes in between: one
// that the bar was given after its last drawing would be lost.
func (c *console) hide(end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end()
	c.bar = nil
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
