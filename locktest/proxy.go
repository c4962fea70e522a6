package locktest

import (
	"errors"
	"net"
	"sync"
	"testing"
)

// A Proxy is a Link for services over TCP: what is sent to its address goes to
// the service and back, unless it is told otherwise. While something is
// swallowed, the end of a connection is too: a server does not learn that a
// client behind a dead network has hung up.
type Proxy struct {
	target   string
	listener net.Listener
	work     sync.WaitGroup

	mu      sync.Mutex // guards all below
	changed sync.Cond  // swallow, closed, or a pair's cut
	closed  bool
	swallow [2]bool            // by direction
	pairs   map[*pair]struct{} // connections under way
}

// The directions.
const (
	requests = iota
	replies
)

// A pair is one connection through the proxy.
type pair struct {
	ends    [2]net.Conn // by the direction that they are the source of
	stalled [2]bool     // something was swallowed, so nothing may follow; guarded by Proxy.mu
	cut     bool        // guarded by Proxy.mu
}

var _ Link = (*Proxy)(nil)

// NewProxy returns a Proxy before the TCP address target that listens on the
// loopback interface until t ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: target, listener: l, pairs: make(map[*pair]struct{})}
	p.changed.L = &p.mu
	p.work.Go(p.serve)
	t.Cleanup(p.close)
	return p
}

// Addr is the address to dial instead of the service's.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Swallow is Link's. New connections are accepted and hang.
func (p *Proxy) Swallow() { p.set(true, true) }

// SwallowReplies is Link's.
func (p *Proxy) SwallowReplies() { p.set(false, true) }

// Restore is Link's: connections on which something was swallowed are reset.
func (p *Proxy) Restore() { p.set(false, false) }

// Reset is Link's.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutAll()
}

func (p *Proxy) set(swallowRequests, swallowReplies bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow = [2]bool{swallowRequests, swallowReplies}
	for c := range p.pairs {
		if !swallowRequests && !swallowReplies && (c.stalled[requests] || c.stalled[replies]) {
			p.cut(c)
		}
	}
	p.changed.Broadcast()
}

// cutAll cuts every connection. p.mu is held.
func (p *Proxy) cutAll() {
	for c := range p.pairs {
		p.cut(c)
	}
	p.changed.Broadcast()
}

// cut closes both ends of c with RST. p.mu is held.
func (p *Proxy) cut(c *pair) {
	c.cut = true
	for _, conn := range c.ends {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// serve accepts connections until the listener is closed.
func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.work.Go(func() { p.carry(client) })
		}
	}
}

// carry carries one connection until both directions have ended.
func (p *Proxy) carry(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	c := &pair{ends: [2]net.Conn{requests: client, replies: server}}
	p.mu.Lock()
	p.pairs[c] = struct{}{}
	if p.closed {
		p.cut(c)
	}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.copy(c, requests) })
	both.Go(func() { p.copy(c, replies) })
	both.Wait()
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
}

// copy carries one direction. It ends when either end is closed, and then has
// both closed.
func (p *Proxy) copy(c *pair, direction int) {
	from, to := c.ends[direction], c.ends[1-direction]
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && p.passes(c, direction) {
			if _, err := to.Write(buf[:n]); err != nil {
				p.hangUp(c, 1-direction)
				return
			}
		}
		if err != nil {
			p.hangUp(c, direction)
			return
		}
	}
}

// passes reports whether a piece of c may go on.
func (p *Proxy) passes(c *pair, direction int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.swallow[direction] {
		c.stalled[direction] = true
	}
	return !c.stalled[direction]
}

// hangUp passes on that the source of direction is closed, once it may.
func (p *Proxy) hangUp(c *pair, direction int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.swallow[direction] && !p.closed && !c.cut {
		p.changed.Wait()
	}
	_ = c.ends[requests].Close()
	_ = c.ends[replies].Close()
}

// close cuts everything and waits for all goroutines.
func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.cutAll()
	p.mu.Unlock()
	p.work.Wait()
}
