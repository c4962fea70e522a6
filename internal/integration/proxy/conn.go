package proxy

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// conn is a client's connection and the one to the server that belongs to it.
type conn struct {
	p      *Proxy
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	pipes  [2]*pipe
	client net.Conn

	// Guarded by p.mu.
	server net.Conn // nil until it is made
	over   bool
}

func newConn(p *Proxy, client net.Conn) *conn {
	c := &conn{p: p, client: client}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.pipes[requests] = newPipe(c, requests)
	c.pipes[replies] = newPipe(c, replies)
	return c
}

// serve runs the connection from its acceptance to its end on both sides.
func (c *conn) serve() {
	var readers, writers sync.WaitGroup
	request, reply := c.pipes[requests], c.pipes[replies]
	readers.Go(func() { request.read(c.client) })
	writers.Go(func() { reply.deliver(c.client) })
	if server, err := c.dial(); err == nil {
		readers.Go(func() { reply.read(server) })
		writers.Go(func() { request.deliver(server) })
	} else {
		reply.put(item{end: rst})
	}
	writers.Wait() // both ends delivered, or reset
	c.p.mu.Lock()
	c.close()
	delete(c.p.conns, c)
	c.p.mu.Unlock()
	readers.Wait() // their connections are closed
}

// dial waits until requests pass and connects to the server.
func (c *conn) dial() (net.Conn, error) {
	for {
		c.p.mu.Lock()
		mode, changed := c.p.modes[requests], c.p.changed
		c.p.mu.Unlock()
		if mode == Pass {
			break
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			return nil, c.ctx.Err()
		}
	}
	// A dial that is given up closes what the server may have accepted already: with
	// a RST, please.
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error { return raw.Control(abortive) }}
	server, err := d.DialContext(c.ctx, "tcp", c.p.target)
	if err != nil {
		return nil, err
	}
	_ = server.(*net.TCPConn).SetLinger(-1) // from here on, close means FIN again
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.over {
		reset(server)
		return nil, net.ErrClosed
	}
	c.server = server
	return server, nil
}

// reset ends the connection at once with a RST to both sides. The caller holds p.mu.
func (c *conn) reset() {
	if c.over {
		return
	}
	reset(c.client)
	if c.server != nil {
		reset(c.server)
	}
	c.close()
}

// close ends the connection; what was written is still sent. The caller holds p.mu.
func (c *conn) close() {
	c.over = true
	c.cancel()
	_ = c.client.Close()
	if c.server != nil {
		_ = c.server.Close()
	}
}

// abortive makes a socket's close send a RST.
func abortive(fd uintptr) {
	_ = syscall.SetsockoptLinger(int(fd), syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
}

// reset closes one side's connection with a RST.
func reset(n net.Conn) {
	if tcp, ok := n.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = n.Close()
}
