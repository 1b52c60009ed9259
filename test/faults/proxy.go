package faults

import (
	"net"
	"sync"
	"sync/atomic"
)

// Weather is what a Proxy does to connections.
type Weather int

const (
	Fair       Weather = iota // everything passes
	Refusing                  // connections are broken off, new ones at once
	Stalling                  // nothing passes; what was said comes once it is fair again
	Swallowing                // nothing passes, ever again: whoever waits on such a connection waits in vain
)

func (w Weather) String() string {
	return [...]string{"fair", "refusing", "stalling", "swallowing"}[w]
}

// Proxy is the network between a client and a server, which can fail. A connection
// that was swallowed stays dead when it is fair again, on both of its ends, as one
// whose state a firewall has lost: neither end hears when the other closes.
type Proxy struct {
	to   string
	door net.Listener
	run  sync.WaitGroup
	made atomic.Int64

	mu      sync.Mutex
	news    *sync.Cond // of what is below
	weather Weather
	closed  bool
	pairs   map[*pair]struct{}
}

// pair is one connection: its client's end and its server's.
type pair struct {
	near, far net.Conn
	dead      bool // it was swallowed
}

// NewProxy listens on a port of 127.0.0.1 and leads to an address.
func NewProxy(to string) (*Proxy, error) {
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{to: to, door: door, pairs: map[*pair]struct{}{}}
	p.news = sync.NewCond(&p.mu)
	p.run.Go(p.serve)
	return p, nil
}

// Addr is where clients go.
func (p *Proxy) Addr() string { return p.door.Addr().String() }

// Made counts the connections that clients made or tried to make.
func (p *Proxy) Made() int64 { return p.made.Load() }

// Set changes the weather.
func (p *Proxy) Set(w Weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weather = w
	switch w {
	case Refusing:
		p.cut()
	case Swallowing:
		for c := range p.pairs {
			c.dead = true
		}
	}
	p.news.Broadcast()
}

// Cut breaks off the connections that there are; new ones are made.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

func (p *Proxy) cut() {
	for c := range p.pairs {
		if !c.dead {
			_, _ = c.near.Close(), c.far.Close()
		}
	}
}

// Close ends everything and waits for it.
func (p *Proxy) Close() {
	_ = p.door.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.pairs {
		_, _ = c.near.Close(), c.far.Close()
	}
	p.news.Broadcast()
	p.mu.Unlock()
	p.run.Wait()
}

func (p *Proxy) serve() {
	for {
		near, err := p.door.Accept()
		if err != nil {
			return
		}
		p.made.Add(1)
		p.run.Go(func() { p.connect(near) })
	}
}

func (p *Proxy) connect(near net.Conn) {
	defer near.Close()
	if !p.open() {
		return
	}
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer far.Close()
	c := &pair{near: near, far: far}
	if !p.keep(c) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { p.pass(c, far, near) })
	p.pass(c, near, far)
	back.Wait()
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
}

func (p *Proxy) open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.weather != Refusing && !p.closed
}

func (p *Proxy) keep(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.weather == Refusing || p.closed {
		return false
	}
	c.dead = p.weather == Swallowing
	p.pairs[c] = struct{}{}
	return true
}

// pass passes on what comes until either end is closed.
func (p *Proxy) pass(c *pair, from, to net.Conn) {
	part := make([]byte, 32<<10)
	for {
		n, err := from.Read(part)
		if !p.through(c) {
			return
		}
		if _, failed := to.Write(part[:n]); err != nil || failed != nil {
			_, _ = from.Close(), to.Close()
			return
		}
	}
}

// through waits until something may pass; false where nothing ever will.
func (p *Proxy) through(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.weather == Stalling && !c.dead && !p.closed {
		p.news.Wait()
	}
	for c.dead && !p.closed {
		p.news.Wait()
	}
	return !p.closed
}
