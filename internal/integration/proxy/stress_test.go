package proxy_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/proxy"
)

// More than all buffers of the kernel hold, to a receiver that is slow to begin.
func TestLargeTransfersAreWhole(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client, server := b.pair()
	data := make([]byte, 16<<20)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	sent := make(chan error, 1)
	go func() { // ends when the proxy has read all, or with the connection
		_, err := client.Write(data)
		client.CloseWrite()
		sent <- err
	}()
	b.until("read", func(s proxy.Stats) bool { return s.Requests.Read == int64(len(data)) })
	b.Set(proxy.Hold, proxy.Hold) // does not wait for the receiver
	b.Set(proxy.Pass, proxy.Pass)
	server.SetReadDeadline(time.Now().Add(bound))
	got, err := io.ReadAll(server)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v, want the %d sent", len(got), err, len(data))
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// echo serves connections until the listener is closed.
func echo(l net.Listener, wg *sync.WaitGroup) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() { // ends with the proxy's connection
			defer c.Close()
			io.Copy(c, c)
		})
	}
}

// Whatever the modes do, an echo is right or does not come, and Close leaves nothing.
func TestModesChangingUnderTraffic(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.Listen(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var serving, clients sync.WaitGroup
	serving.Go(func() { echo(l, &serving) })
	end := time.Now().Add(500 * time.Millisecond)
	for range 4 {
		clients.Go(func() {
			for time.Now().Before(end) {
				talk(t, p.Addr())
			}
		})
	}
	for time.Now().Before(end) {
		switch mode := proxy.Mode(rand.IntN(4)); mode {
		case 3:
			p.Cut()
		default:
			p.Delay(time.Duration(rand.IntN(2000))*time.Microsecond, 0)
			p.Set(mode, proxy.Mode(rand.IntN(3)))
		}
		time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
	}
	clients.Wait()
	p.Close()
	p.Close() // nothing more
	l.Close()
	serving.Wait()
	noneLeft(t)
}

// talk exchanges a few messages over one connection, for as long as it lasts.
func talk(t *testing.T, addr string) {
	c, err := net.DialTimeout("tcp4", addr, bound)
	if err != nil {
		return
	}
	defer c.Close()
	for range 20 {
		want := make([]byte, 1+rand.IntN(40<<10))
		for i := range want {
			want[i] = byte(i)
		}
		c.SetDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := c.Write(want); err != nil {
			return
		}
		got := make([]byte, len(want))
		n, err := io.ReadFull(c, got)
		if !bytes.Equal(got[:n], want[:n]) {
			t.Error("an echo differs from what was sent")
		}
		if err != nil {
			return
		}
	}
}

// noneLeft fails the test if goroutines of the proxy do not end.
func noneLeft(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if n := strings.Count(string(stacks), "/proxy.(*conn)"); n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines left:\n%s", stacks)
		}
		time.Sleep(time.Millisecond)
	}
}
