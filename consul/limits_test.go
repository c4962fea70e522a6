package consul_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/hashicorp/consul/api"
)

// A gauge counts a client's open connections.
type gauge struct{ now, most atomic.Int64 }

func (g *gauge) set(c *api.Config) {
	dial := c.Transport.DialContext
	c.Transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		n := g.now.Add(1)
		for m := g.most.Load(); n > m && !g.most.CompareAndSwap(m, n); m = g.most.Load() {
		}
		return &counted{Conn: conn, gauge: g}, nil
	}
}

type counted struct {
	net.Conn
	once  sync.Once
	gauge *gauge
}

func (c *counted) Close() error {
	c.once.Do(func() { c.gauge.now.Add(-1) })
	return c.Conn.Close()
}

// Stands for: each held lock had a blocking query, and 300 of them were more than
// the 200 connections that an agent takes from one address.
func TestThreeHundredLocksNeedFewConnections(t *testing.T) {
	t.Parallel()
	const n = 300
	var g gauge
	opts := options()
	holder := locks(t, consullock.New(connect(t, g.set), opts))
	leases := each(t, n, func(i int) (*distlock.Lease, error) {
		return holder.Acquire(within(t, time.Minute), fmt.Sprint(i))
	})
	if most := g.most.Load(); most > 64 {
		t.Errorf("%d acquires at once took %d connections, want at most 64", n, most)
	}
	eventually(t, "held locks keep no connection but a few idle ones", func() bool {
		return g.now.Load() <= int64(runtime.GOMAXPROCS(0)+1)
	})

	var w gauge // and as many waiters, each of another key
	waiter := locks(t, consullock.New(connect(t, w.set), opts))
	waited := make(chan []*distlock.Lease)
	go func() {
		waited <- each(t, n, func(i int) (*distlock.Lease, error) {
			return waiter.Acquire(within(t, time.Minute), fmt.Sprint(i))
		})
	}()
	eventually(t, "64 blocking queries", func() bool { return w.now.Load() >= 64 })
	for _, l := range leases {
		release(t, l)
	}
	for _, l := range <-waited {
		release(t, l)
	}
	if most := w.most.Load(); most > 192 {
		t.Errorf("%d waits took %d connections, want at most 192", n, most)
	}
}

// each calls f n times at once.
func each(t testing.TB, n int, f func(i int) (*distlock.Lease, error)) []*distlock.Lease {
	t.Helper()
	leases, errs := make([]*distlock.Lease, n), make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { leases[i], errs[i] = f(i) })
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	return leases
}

// Not parallel: it counts the process' goroutines and the server's sessions.
func TestAThousandFailedTriesLeaveNothing(t *testing.T) {
	admin, opts := connect(t), options()
	holder := locks(t, consullock.New(connect(t), opts))
	l := acquire(t, holder, "k")
	consul := connect(t)
	b := consullock.New(consul, opts)
	tries := func(n int) {
		c, err := distlock.New(b, distlock.WithLockDelay(0))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%10)*time.Millisecond)
			if i%2 == 0 {
				_, err = c.TryAcquire(ctx, "k")
			} else {
				_, err = c.Acquire(ctx, "k")
			}
			cancel()
			if err == nil {
				t.Error("a key was granted that is held")
			}
		}
		if err := c.Close(within(t, time.Minute)); err != nil {
			t.Error(err)
		}
	}
	tries(20)
	sessions := sessionCount(t, admin)
	before := runtime.NumGoroutine()
	tries(1000)
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before+4 }) // idle connections
	eventually(t, "no session is left", func() bool { return sessionCount(t, admin) <= sessions })
	names, _, err := admin.KV().Keys(opts.Prefix, "", nil)
	if err != nil || len(names) != 1 {
		t.Errorf("got entries %v, %v, want the holder's alone", names, err)
	}
	release(t, l)
}

func sessionCount(t testing.TB, c *api.Client) int {
	t.Helper()
	all, _, err := c.Session().List(nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range all {
		if strings.HasPrefix(s.Name, "distlock") {
			n++
		}
	}
	return n
}

// An interval costs one renewal, and behind it one look at the entries for each 64 of
// them, whatever the number of leases.
func TestRenewalsArePerSession(t *testing.T) {
	t.Parallel()
	const leases, ttl, looks = 1000, 6 * time.Second, (1000 + 63) / 64
	var n, others atomic.Int64
	count := func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/session/renew/") {
			n.Add(1)
		} else {
			others.Add(1)
		}
		return next.RoundTrip(r)
	}
	c := locks(t, consullock.New(connect(t, through(count)), options()), distlock.WithTTL(ttl))
	held := each(t, leases, func(i int) (*distlock.Lease, error) {
		return c.Acquire(within(t, time.Minute), fmt.Sprint(i))
	})
	before, start := n.Load(), time.Now()
	eventually(t, "a renewal", func() bool { return n.Load() > before })
	besides := others.Load()
	eventually(t, "three renewals", func() bool { return n.Load() >= before+3 })
	besides = others.Load() - besides
	if took := time.Since(start); took < ttl*2/3 {
		t.Errorf("three renewals in %v for %d leases with a TTL of %v", took, leases, ttl)
	}
	if besides > 3*looks {
		t.Errorf("%d other requests beside two intervals, want up to %d", besides, 3*looks)
	}
	for _, l := range held {
		release(t, l)
	}
}
