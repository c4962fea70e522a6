package proxy_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/proxy"
)

func TestPassForwardsDataAndEnds(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client, server := b.pair()
	client.send("ping")
	server.gets("ping")
	server.send("pong")
	client.gets("pong")
	client.CloseWrite()
	server.ends(io.EOF)
	server.send("late") // the other direction is open still
	client.gets("late")
	server.Close()
	client.ends(io.EOF)
	b.until("over", func(s proxy.Stats) bool { return s.Open == 0 })
}

func TestPassForwardsResets(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client, server := b.pair()
	server.abort()
	client.ends(syscall.ECONNRESET)
	client, server = b.pair()
	client.abort()
	server.ends(syscall.ECONNRESET)
}

func TestServerThatRefusesIsAReset(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.listener.Close()
	// The RST may come before net.Dial has looked at the connection.
	c, err := net.DialTimeout("tcp4", b.Addr(), bound)
	if err == nil {
		peer{t, c.(*net.TCPConn)}.ends(syscall.ECONNRESET)
	} else if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want %v", err, syscall.ECONNRESET)
	}
	b.Set(proxy.Pass, proxy.Swallow)
	b.client().getsNothing()
}

func TestSwallowTellsNobody(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client, server := b.pair()
	idle, idleServer := b.pair()
	b.Set(proxy.Swallow, proxy.Swallow)
	client.send("lost")
	server.getsNothing()
	server.Close()
	client.getsNothing()
	fresh := b.client()
	fresh.send("lost too")
	fresh.getsNothing()
	b.noServer()
	b.until("all lost", func(s proxy.Stats) bool { return s.Requests.Lost == 12 })

	b.Set(proxy.Pass, proxy.Pass)
	client.ends(syscall.ECONNRESET)
	fresh.ends(syscall.ECONNRESET)
	idle.send("ping") // lost nothing
	idleServer.gets("ping")
}

func TestSwallowedConnectionThatSaidNothingIsMadeLater(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.Set(proxy.Swallow, proxy.Swallow)
	client := b.client()
	b.noServer()
	b.Set(proxy.Pass, proxy.Pass)
	client.send("ping")
	b.server().gets("ping")
}

func TestSwallowRepliesLetsRequestsThrough(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client, server := b.pair()
	b.Set(proxy.Pass, proxy.Swallow)
	client.send("ping")
	server.gets("ping")
	server.send("pong")
	server.Close()
	client.getsNothing()
	fresh, freshServer := b.pair()
	fresh.send("ping")
	freshServer.gets("ping")
	b.Set(proxy.Pass, proxy.Pass)
	client.ends(syscall.ECONNRESET)
	freshServer.send("pong") // nothing was lost here
	fresh.gets("pong")
}

func TestHoldRepliesDeliversThemInOrderLater(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client, server := b.pair()
	b.Set(proxy.Pass, proxy.Hold)
	for _, text := range []string{"one ", "two ", "three"} {
		client.send("next")
		server.gets("next")
		server.send(text)
	}
	server.Close()
	b.until("held", func(s proxy.Stats) bool { return s.Replies.Pending() == 13 })
	client.getsNothing()
	b.Set(proxy.Pass, proxy.Pass)
	client.gets("one two three")
	client.ends(io.EOF)
}

func TestHoldRequestsDeliversThemLater(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client, server := b.pair()
	b.Set(proxy.Hold, proxy.Pass)
	client.send("late write")
	fresh := b.client()
	fresh.send("late start")
	server.getsNothing()
	b.noServer()
	server.send("notice")
	client.gets("notice")
	client.Close() // the end is held too
	server.getsNothing()
	b.Set(proxy.Pass, proxy.Pass)
	server.gets("late write")
	server.ends(io.EOF)
	b.server().gets("late start")
}

func TestSwallowDiscardsWhatWasHeld(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client, server := b.pair()
	b.Set(proxy.Hold, proxy.Pass)
	client.send("held")
	b.until("held", func(s proxy.Stats) bool { return s.Requests.Pending() == 4 })
	b.Set(proxy.Swallow, proxy.Pass)
	b.Set(proxy.Pass, proxy.Pass)
	server.ends(syscall.ECONNRESET)
	client.ends(syscall.ECONNRESET)
}

func TestDelayPerDirection(t *testing.T) {
	t.Parallel()
	const long = 80 * time.Millisecond
	for _, c := range []struct {
		name           string
		request, reply time.Duration
	}{{"none", 0, 0}, {"requests", long, 0}, {"replies", 0, long}, {"both", long, long}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			client, server := b.pair()
			b.Delay(c.request, c.reply)
			sent := time.Now()
			client.send("one ")
			client.send("two")
			server.gets("one two")
			if got := time.Since(sent); got < c.request {
				t.Errorf("request took %v, want at least %v", got, c.request)
			}
			sent = time.Now()
			server.send("pong")
			client.gets("pong")
			if got := time.Since(sent); got < c.reply {
				t.Errorf("reply took %v, want at least %v", got, c.reply)
			}
		})
	}
}

func TestCutResetsAndRefuses(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	client, server := b.pair()
	addr := b.Addr()
	b.Cut()
	b.Cut() // nothing more
	client.ends(syscall.ECONNRESET)
	server.ends(syscall.ECONNRESET)
	if !b.refused() {
		t.Error("a connection was accepted after Cut")
	}
	b.Set(proxy.Pass, proxy.Pass)
	if got := b.Addr(); got != addr {
		t.Errorf("address is %s after a cut, was %s", got, addr)
	}
	client, server = b.pair()
	client.send("ping")
	server.gets("ping")
}
