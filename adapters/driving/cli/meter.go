package cli

import (
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// meter shows how far long work is, where standard error is a terminal. A nil
// meter shows nothing.
type meter struct {
	bar     progress.Writer
	tracker *progress.Tracker
	ended   chan struct{}
}

// meter starts one; total 0 is unknown.
func (s *shell) meter(label string, total int64) *meter {
	if !isTerminal(s.Stderr) {
		return nil
	}
	m := &meter{bar: progress.NewWriter(), ended: make(chan struct{})}
	m.tracker = &progress.Tracker{Message: label, Total: total}
	m.bar.SetOutputWriter(s.Stderr)
	m.bar.SetUpdateFrequency(100 * time.Millisecond)
	m.bar.AppendTracker(m.tracker)
	go func() {
		defer close(m.ended)
		m.bar.Render()
	}()
	return m
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (m *meter) add(n int64) {
	if m != nil {
		m.tracker.Increment(n)
	}
}

func (m *meter) set(n int64) {
	if m != nil {
		m.tracker.SetValue(n)
	}
}

// end draws the last state and waits until the drawing has ended.
func (m *meter) end() {
	if m == nil {
		return
	}
	m.tracker.MarkAsDone()
	for {
		m.bar.Stop() // does nothing until the drawing has begun
		select {
		case <-m.ended:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}
