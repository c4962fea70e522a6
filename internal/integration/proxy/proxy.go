// Package proxy is a TCP proxy whose network fails on command.
//
// Each direction has a [Mode]. Requests are what clients send to the server, replies
// what the server sends to clients; both include the ends of connections, in their
// order: a FIN or RST is passed, held or swallowed like data, so that with Swallow
// neither side learns of the other's end. What is typical:
//
//	Set(Swallow, Swallow)  the network is down: nothing arrives, nobody is told
//	Set(Pass, Swallow)     the server does what it is asked, and nobody hears of it
//	Set(Pass, Hold)        the same, but replies come late, at the next Set
//	Set(Hold, Pass)        requests come late
//	Cut()                  connections are reset and new ones refused
//	Set(Pass, Pass)        the network works
//
// New connections are accepted in all modes. The one to the server is made once
// requests pass; if the server refuses it, that is a reply: a RST.
//
// The proxy reads all the time and keeps what it may not or cannot deliver in memory,
// without a bound. So no sender notices by a full buffer that nothing arrives.
package proxy

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// A Mode says what happens to what a direction carries.
type Mode int

const (
	// Pass forwards everything, and what was held first.
	Pass Mode = iota
	// Hold keeps everything until the mode is another.
	Hold
	// Swallow discards everything, also what was held or delayed. A connection that
	// lost something this way is beyond repair: it is reset on both sides when its
	// direction's mode becomes another. One that lost nothing goes on.
	Swallow
)

// The two directions, as indices.
const (
	requests = iota
	replies
)

// A Proxy forwards connections to one address. Its methods may be called
// concurrently. When one of them returns, what it says is in force: not one byte more
// is treated the old way.
type Proxy struct {
	target string
	port   int
	wg     sync.WaitGroup // the acceptor's and the connections' goroutines

	mu       sync.Mutex // guards the rest, and the queues of all connections
	listener net.Listener
	closed   bool
	modes    [2]Mode
	delays   [2]time.Duration
	changed  chan struct{} // closed and replaced whenever modes change
	conns    map[*conn]bool
	stats    Stats
}

// Proxies listen on ports below those that kernels take outgoing ports from, so that
// nobody gets the port of a proxy that refuses connections.
const firstPort, lastPort = 32000, 32767

// Listen starts a proxy on a free port of 127.0.0.1 that forwards to target. The
// caller closes it. It needs no server at target yet.
func Listen(target string) (*Proxy, error) {
	p := &Proxy{target: target, changed: make(chan struct{}), conns: make(map[*conn]bool)}
	var err error
	for range 200 {
		p.port = firstPort + rand.IntN(lastPort-firstPort+1)
		p.mu.Lock()
		err = p.open()
		p.mu.Unlock()
		if err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("proxy: no free port: %w", err)
}

// Start is Listen for a test, which closes the proxy when it ends.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := Listen(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Addr returns the address that the proxy listens on. It never changes.
func (p *Proxy) Addr() string { return net.JoinHostPort("127.0.0.1", p.Port()) }

// Port returns the port of Addr.
func (p *Proxy) Port() string { return strconv.Itoa(p.port) }

// Set sets the modes of both directions, for connections that exist and that come,
// and ends a Cut. It panics if another program took the port meanwhile.
func (p *Proxy) Set(requestMode, replyMode Mode) {
	p.mu.Lock()
	old := p.modes
	p.modes = [2]Mode{requestMode, replyMode}
	if p.listener == nil && !p.closed {
		if err := p.open(); err != nil {
			p.mu.Unlock()
			panic("proxy: " + err.Error())
		}
	}
	for c := range p.conns {
		for d, pipe := range c.pipes {
			switch {
			case p.modes[d] == Swallow:
				pipe.discard()
			case old[d] == Swallow && pipe.lost:
				c.reset()
			}
		}
	}
	p.announce()
	p.mu.Unlock()
}

// Delay lets what is read from now on be delivered no sooner than the given times
// later, per direction and in order. The making of connections is not delayed. Zero,
// the default, ends it; what is delayed already stays so.
func (p *Proxy) Delay(request, reply time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delays = [2]time.Duration{request, reply}
}

// Cut resets all connections on both sides, in all modes, and lets new ones be refused
// until the next Set. What was held is lost.
func (p *Proxy) Cut() {
	p.mu.Lock()
	p.cut()
	p.announce()
	p.mu.Unlock()
}

// Close cuts, for ever, and returns when all of the proxy's goroutines have ended. A
// second Close does nothing.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.cut()
	p.announce()
	p.mu.Unlock()
	p.wg.Wait()
}

// open starts to listen and accept. The caller holds mu.
func (p *Proxy) open() error {
	l, err := net.Listen("tcp4", p.Addr())
	if err != nil {
		return err
	}
	p.listener = l
	p.wg.Go(func() { p.accept(l) }) // ends when l is closed
	return nil
}

// cut does what Cut promises. The caller holds mu.
func (p *Proxy) cut() {
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	for c := range p.conns {
		c.reset()
	}
}

// announce wakes all who wait for a change, and waits for deliveries that began
// before it. The caller holds mu, which is free meanwhile.
func (p *Proxy) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
	var busy []*pipe
	for c := range p.conns {
		busy = append(busy, c.pipes[:]...)
	}
	p.mu.Unlock()
	for _, w := range busy {
		w.writing.Lock()
		//lint:ignore SA2001 a barrier: a delivery that has begun ends soon
		w.writing.Unlock()
	}
	p.mu.Lock()
}

// accept takes connections until l is closed.
func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		if p.listener != l { // a Cut came between
			reset(client)
		} else {
			c := newConn(p, client)
			p.conns[c] = true
			p.stats.Accepted++
			p.wg.Go(c.serve)
		}
		p.mu.Unlock()
	}
}
