package faults_test

import (
	"bufio"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rowlock/rowlock/test/faults"
)

// echo is a server that says every line again.
func echo(t *testing.T) string {
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = door.Close() })
	go func() {
		for {
			c, err := door.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					line, err := r.ReadString('\n')
					if _, failed := c.Write([]byte(line)); err != nil || failed != nil {
						return
					}
				}
			}()
		}
	}()
	return door.Addr().String()
}

type line struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, p *faults.Proxy) line {
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return line{t, c, bufio.NewReader(c)}
}

// hears waits for a line, or for how it does not come.
func (l line) hears(within time.Duration) (string, error) {
	_ = l.SetReadDeadline(time.Now().Add(within))
	return l.r.ReadString('\n')
}

func (l line) says(text string) { _, _ = l.Write([]byte(text + "\n")) }

func (l line) answers(text string) {
	l.t.Helper()
	l.says(text)
	if got, err := l.hears(time.Minute); got != text+"\n" || err != nil {
		l.t.Fatalf("said %s and heard %q, %v", text, got, err)
	}
}

const aWhile = 100 * time.Millisecond // in which nothing must come

func (l line) isSilent() {
	l.t.Helper()
	if got, err := l.hears(aWhile); !errors.Is(err, os.ErrDeadlineExceeded) {
		l.t.Fatalf("heard %q, %v", got, err)
	}
}

func (l line) isBroken() {
	l.t.Helper()
	if got, err := l.hears(time.Minute); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		l.t.Fatalf("heard %q, %v", got, err)
	}
}

func TestProxy(t *testing.T) {
	p, err := faults.NewProxy(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	first := dial(t, p)
	first.answers("fair")
	p.Set(faults.Stalling)
	first.says("later")
	first.isSilent()
	p.Set(faults.Fair)
	if got, err := first.hears(time.Minute); got != "later\n" || err != nil {
		t.Fatalf("after the stall: %q, %v", got, err)
	}
	p.Cut()
	first.isBroken()
	second := dial(t, p)
	second.answers("cut")
	p.Set(faults.Refusing)
	second.isBroken()
	dial(t, p).isBroken()
	p.Set(faults.Fair)
	third := dial(t, p)
	third.answers("again")
	p.Set(faults.Swallowing)
	third.says("lost")
	p.Set(faults.Fair)
	third.isSilent()
	p.Cut()
	third.isSilent() // not even that comes through
	dial(t, p).answers("new")
	if n := p.Made(); n != 5 {
		t.Errorf("it counted %d connections", n)
	}
}
