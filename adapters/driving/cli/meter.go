package cli

import (
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// meter shows how far long work is. A nil meter shows nothing.
type meter struct {
	console *console
	bar     progress.Writer
	tracker *progress.Tracker
	ended   chan struct{}
}

// meter starts one where standard error is a terminal; total 0 is unknown.
func (s *shell) meter(label string, total int64) *meter {
	if !isTerminal(s.console.out) {
		return nil
	}
	return newMeter(s.console, label, total)
}

func newMeter(c *console, label string, total int64) *meter {
	m := &meter{console: c, bar: progress.NewWriter(), ended: make(chan struct{})}
	m.tracker = &progress.Tracker{Message: label, Total: total}
	m.bar.SetOutputWriter(c.out)
	m.bar.SetUpdateFrequency(100 * time.Millisecond)
	m.bar.AppendTracker(m.tracker)
	c.show(m.bar)
	go func() {
		defer close(m.ended)
		m.bar.Render()
	}()
	return m
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
	m.console.hide(func() {
		for {
			m.bar.Stop() // does nothing until the drawing has begun
			select {
			case <-m.ended:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
}
