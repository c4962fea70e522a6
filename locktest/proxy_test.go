package locktest_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/distlock-go/distlock/locktest"
)

// echoServer answers every byte with itself and returns its address.
func echoServer(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // ends with the connection
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// echo sends one byte and returns the error of reading it back.
func echo(t *testing.T, c net.Conn) error {
	t.Helper()
	c.SetDeadline(time.Now().Add(300 * time.Millisecond))
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

func TestProxy(t *testing.T) {
	p := locktest.NewProxy(t, echoServer(t))
	dial := func() net.Conn {
		c, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	timedOut := func(err error) bool {
		ne, ok := err.(net.Error)
		return ok && ne.Timeout()
	}
	idle, used := dial(), dial()
	for _, swallow := range []func(){p.Swallow, p.SwallowReplies} {
		if err := echo(t, used); err != nil {
			t.Fatalf("echo: %v", err)
		}
		swallow()
		if err := echo(t, used); !timedOut(err) {
			t.Errorf("echo while swallowed: got %v, want a time-out", err)
		}
		p.Restore()
		if err := echo(t, used); err == nil || timedOut(err) {
			t.Errorf("echo on a stalled connection after Restore: got %v, want a reset", err)
		}
		if err := echo(t, idle); err != nil {
			t.Errorf("echo on a connection that was idle meanwhile: %v", err)
		}
		used = dial()
	}
	p.Reset()
	if err := echo(t, idle); err == nil || timedOut(err) {
		t.Errorf("echo after Reset: got %v, want an error at once", err)
	}
	if err := echo(t, dial()); err != nil {
		t.Errorf("echo on a new connection after Reset: %v", err)
	}
}
