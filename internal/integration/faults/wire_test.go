package faults_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
	goredis "github.com/redis/go-redis/v9"
)

// A wire is a lock client behind a link of its own to the healthy server.
type wire struct {
	t      testing.TB
	server *servers.Server
	link   *proxy.Proxy
	locks  *distlock.Client
	around atomic.Bool     // new connections go around the link
	direct *goredis.Client // not through the link
}

// newWire connects a lock client. It has a connection that waits to be used, so that
// the next request goes out as a request and not as the making of a connection.
func newWire(t testing.TB, opts ...distlock.Option) *wire {
	t.Helper()
	return newWireOf(t, goredis.Options{}, opts...)
}

// newWireOf is newWire with options of the go-redis client.
func newWireOf(t testing.TB, of goredis.Options, opts ...distlock.Option) *wire {
	t.Helper()
	s := healthyServer(t)
	w := &wire{t: t, server: s, link: s.Proxy(t), direct: dial(t, s.Addr())}
	of.Addr = w.link.Addr()
	of.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if w.around.Load() {
			addr = s.Addr()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	rdb := goredis.NewClient(&of)
	t.Cleanup(func() { rdb.Close() })
	w.locks = lockOn(t, rdb, opts...)
	t.Cleanup(w.restore) // before the client closes, so that it can
	release(t, acquire(t, w.locks, t.Name()+"-warm"))
	eventually(t, bound, "a connection is idle", func() bool { return rdb.PoolStats().IdleConns > 0 })
	return w
}

// restore lets everything pass again. Connections that lost something are reset.
func (w *wire) restore() { w.link.Set(proxy.Pass, proxy.Pass) }

// reroute lets new connections go around the link; those on it stay as they are.
func (w *wire) reroute() { w.around.Store(true) }

// value returns what the server has of the lock of key, or "" for nothing.
func (w *wire) value(key string) string { return value(w.t, w.direct, lockName(key)) }
