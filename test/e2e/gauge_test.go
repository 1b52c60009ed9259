package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// gauge counts handlers that run at one time. Each holds a connection for as long
// as it runs, so one that is killed leaves with it; all others wait until they are
// counted out.
type gauge struct {
	addr string

	mu     sync.Mutex
	now    map[string]int // running handlers of a key
	most   map[string]int
	began  map[string]int // handlers of a job, also of its other attempts
	visits []visit
}

// visit is what a handler says of itself at its start.
type visit struct {
	Key  string    `json:"key"`
	Job  string    `json:"job"`
	At   time.Time `json:"at"`
	Hold int       `json:"hold"` // ms
}

func newGauge(t *testing.T) *gauge {
	t.Helper()
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gauge{addr: door.Addr().String(), now: map[string]int{}, most: map[string]int{}, began: map[string]int{}}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := door.Accept()
			if err != nil {
				return
			}
			open.Go(func() { g.watch(c) })
		}
	})
	t.Cleanup(func() {
		_ = door.Close()
		open.Wait()
	})
	return g
}

func (g *gauge) watch(c net.Conn) {
	defer func() { _ = c.Close() }()
	in := bufio.NewScanner(c)
	var v visit
	if !in.Scan() || json.Unmarshal(in.Bytes(), &v) != nil {
		return
	}
	g.mu.Lock()
	g.now[v.Key]++
	g.most[v.Key] = max(g.most[v.Key], g.now[v.Key])
	g.began[v.Job]++
	g.visits = append(g.visits, v)
	g.mu.Unlock()
	_, _ = fmt.Fprintln(c, "in") // a handler that is gone need not hear it
	in.Scan()
	g.mu.Lock()
	g.now[v.Key]--
	g.mu.Unlock()
	_, _ = fmt.Fprintln(c, "out")
}

// stay is the handler's side: it stays for as long as it was asked to.
func (v visit) stay(addr string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := json.NewEncoder(c).Encode(v); err != nil {
		return err
	}
	answers := bufio.NewReader(c)
	if _, err := answers.ReadString('\n'); err != nil {
		return err
	}
	<-time.After(time.Duration(v.Hold) * time.Millisecond) // the work
	if _, err := fmt.Fprintln(c, "done"); err != nil {
		return err
	}
	_, err = answers.ReadString('\n')
	return err
}

// highest is how many handlers of a key ran at one time.
func (g *gauge) highest(key string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most[key]
}

// running is how many handlers of a key run now.
func (g *gauge) running(key string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now[key]
}

// runs is how often each job was started.
func (g *gauge) runs() map[string]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.began)
}

// has says whether a job was started.
func (g *gauge) has(job string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.began[job] > 0
}

// starts are the moments at which handlers of a key started, in order.
func (g *gauge) starts(key string) []time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	var at []time.Time
	for _, v := range g.visits {
		if v.Key == key {
			at = append(at, v.At)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return at
}
