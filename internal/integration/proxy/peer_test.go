package proxy_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/proxy"
)

// bound is how long a test waits for what must happen; quiet, for what must not.
const (
	bound = 10 * time.Second
	quiet = 60 * time.Millisecond
)

// peer is one end of a connection, with a test's patience.
type peer struct {
	t *testing.T
	*net.TCPConn
}

// send writes and fails the test if that takes long.
func (p peer) send(text string) {
	p.t.Helper()
	p.SetWriteDeadline(time.Now().Add(bound))
	if _, err := io.WriteString(p, text); err != nil {
		p.t.Fatalf("send %q: %v", text, err)
	}
}

// gets fails the test unless want arrives.
func (p peer) gets(want string) {
	p.t.Helper()
	p.SetReadDeadline(time.Now().Add(bound))
	got := make([]byte, len(want))
	if n, err := io.ReadFull(p, got); err != nil || string(got) != want {
		p.t.Fatalf("got %q, %v, want %q", got[:n], err, want)
	}
}

// ends fails the test unless the connection ends in the given way.
func (p peer) ends(want error) {
	p.t.Helper()
	p.SetReadDeadline(time.Now().Add(bound))
	if n, err := p.Read(make([]byte, 1)); n > 0 || !errors.Is(err, want) {
		p.t.Fatalf("got %d bytes, %v, want %v", n, err, want)
	}
}

// getsNothing fails the test if anything arrives, an end included.
func (p peer) getsNothing() {
	p.t.Helper()
	p.SetReadDeadline(time.Now().Add(quiet))
	if n, err := p.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Fatalf("got %d bytes, %v, want nothing", n, err)
	}
}

// abort closes with a RST.
func (p peer) abort() {
	p.SetLinger(0)
	p.Close()
}

// bed is a proxy between a test's clients and a server, both played by the test.
type bed struct {
	t *testing.T
	*proxy.Proxy
	listener *net.TCPListener
}

func newBed(t *testing.T) *bed {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &bed{t, proxy.Start(t, l.Addr().String()), l.(*net.TCPListener)}
}

// client connects to the proxy.
func (b *bed) client() peer {
	b.t.Helper()
	c, err := net.DialTimeout("tcp4", b.Addr(), bound)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return peer{b.t, c.(*net.TCPConn)}
}

// server takes the next connection that the proxy makes.
func (b *bed) server() peer {
	b.t.Helper()
	b.listener.SetDeadline(time.Now().Add(bound))
	c, err := b.listener.AcceptTCP()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return peer{b.t, c}
}

// pair returns both ends of a new connection.
func (b *bed) pair() (client, server peer) {
	b.t.Helper()
	client = b.client()
	return client, b.server()
}

// noServer fails the test if the proxy makes a connection.
func (b *bed) noServer() {
	b.t.Helper()
	b.listener.SetDeadline(time.Now().Add(quiet))
	if c, err := b.listener.AcceptTCP(); err == nil {
		c.Close()
		b.t.Fatal("the proxy connected to the server")
	}
}

// until polls a condition on the proxy's counts.
func (b *bed) until(what string, condition func(proxy.Stats) bool) {
	b.t.Helper()
	deadline := time.Now().Add(bound)
	for !condition(b.Stats()) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not %s after %v: %+v", what, bound, b.Stats())
		}
		time.Sleep(time.Millisecond)
	}
}

// refused says whether the proxy refuses connections.
func (b *bed) refused() bool {
	c, err := net.DialTimeout("tcp4", b.Addr(), bound)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
