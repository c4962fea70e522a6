package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// promptly is how soon a waiter has a key that is free, with all wake-ups lost: a poll
// interval of a second at most, and what a loaded machine adds.
const promptly = 1200 * time.Millisecond

// A waiting is an Acquire that waits.
type waiting struct{ result chan *distlock.Lease }

// await starts to wait for key, until it listens for wake-ups if the server is reachable.
func await(t *testing.T, locks *distlock.Client, key string) *waiting {
	w := &waiting{result: make(chan *distlock.Lease, 1)}
	go func() {
		l, err := locks.Acquire(within(t, 4*bound), key)
		if err != nil {
			t.Errorf("the waiter got %v", err)
		}
		w.result <- l
	}()
	return w
}

// gets ends the test unless the waiter has the key within d. It is given back.
func (w *waiting) gets(t *testing.T, d time.Duration) {
	t.Helper()
	release(t, w.take(t, d))
}

// take returns the lease that the waiter has within d, and what the machine stalls, or
// ends the test.
func (w *waiting) take(t *testing.T, d time.Duration) *distlock.Lease {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	machine, start := watchUntil(t, ctx), time.Now()
	for wait := d; ; wait = 100 * time.Millisecond {
		select {
		case l := <-w.result:
			if l == nil {
				t.FailNow()
			}
			t.Logf("the waiter had it after %v", time.Since(start))
			return l
		case <-time.After(wait):
			if excuse := stallWeight * machine.stalledFor(start, time.Now()); time.Since(start) > d+min(excuse, bound) {
				t.Fatalf("the waiter does not have the free key after %v", time.Since(start))
			}
		}
	}
}

// Stands for: a waiter that relies on messages sleeps for ever, or for a lifetime, after
// its subscription was dropped or a message was lost.
func TestWaiterOutlivesLostWakeUps(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis)
	admin := dial(t, s.Addr())
	for _, c := range []struct {
		name string
		lose func(*testing.T, *proxy.Proxy, *distlock.Lease) // gives the lease up, too
	}{
		{"subscription killed", func(t *testing.T, _ *proxy.Proxy, l *distlock.Lease) {
			if err := admin.Do(t.Context(), "client", "kill", "type", "pubsub").Err(); err != nil {
				t.Fatal(err)
			}
			release(t, l)
		}},
		{"connections reset", func(t *testing.T, p *proxy.Proxy, l *distlock.Lease) {
			p.Cut()
			release(t, l)
			p.Set(proxy.Pass, proxy.Pass)
		}},
		{"message swallowed", func(t *testing.T, p *proxy.Proxy, l *distlock.Lease) {
			p.Set(proxy.Pass, proxy.Swallow)
			release(t, l)
			p.Set(proxy.Pass, proxy.Pass)
		}},
		{"no message was sent", func(t *testing.T, _ *proxy.Proxy, l *distlock.Lease) {
			if err := admin.Del(t.Context(), lockName(l.Key())).Err(); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Not parallel: the first case kills every subscription.
			link := s.Proxy(t)
			l := acquire(t, locksAt(t, s.Addr()), t.Name())
			w := await(t, locksAt(t, link.Addr()), t.Name())
			listens(t, s, t.Name())
			c.lose(t, link, l)
			w.gets(t, promptly)
		})
	}
}

// listens waits until somebody is subscribed to the wake-ups of key.
func listens(t *testing.T, s *servers.Server, key string) {
	t.Helper()
	rdb, channel := dial(t, s.Addr()), lockName(key)+":free"
	eventually(t, bound, "the waiter listens", func() bool {
		n, err := rdb.PubSubNumSub(t.Context(), channel).Result()
		return err == nil && n[channel] > 0
	})
}

// Stands for: a waiter whose server was restarted waits for a message that nobody sends,
// or fails, and a server that forgot its scripts refuses everything.
func TestWaiterAndHolderOutliveARestart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spec  servers.Spec
		keeps bool // whether the server has its data afterwards
	}{
		{"empty", servers.Redis, false},
		{"durable", servers.Durable(servers.Redis), true},
		{"durable, with scripts only", servers.Durable(servers.RedisNoDelex), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, c.spec)
			l := acquire(t, locksAt(t, s.Addr(), distlock.WithTTL(6*time.Second)), "restart")
			w := await(t, locksAt(t, s.Addr()), "restart")
			listens(t, s, "restart")
			servers.Do(t, s.Kill)
			pause(1500 * time.Millisecond) // so that the waiter asks in vain, and the holder is to be renewed
			servers.Do(t, s.Start)
			if c.keeps {
				throughout(t, 6*time.Second, "the lease is renewed", l.Valid)
				release(t, l)
			}
			w.gets(t, promptly)
			if !c.keeps {
				eventually(t, 6*time.Second, "the holder is told", func() bool { return isClosed(l.Done()) })
			}
		})
	}
}

// Stands for: NOSCRIPT after a restart, a failover or a flush is passed on to the
// caller, or taken for a loss.
func TestForgottenScriptsAreSentAgain(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.RedisNoDelex)
	admin := dial(t, s.Addr())
	flush := func() {
		if err := admin.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	const ttl = 1500 * time.Millisecond
	locks := locksAt(t, s.Addr(), distlock.WithTTL(ttl))
	for range 3 {
		flush()
		l, err := locks.TryAcquire(t.Context(), t.Name())
		if err != nil {
			t.Fatal(err)
		}
		throughout(t, 2*ttl, "it is renewed without scripts on the server", func() bool { flush(); return l.Valid() })
		flush()
		release(t, l)
	}
}

// Stands for: a waiter without the right to subscribe never gets the lock.
func TestWaiterWithoutTheRightToListenGetsTheLock(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis)
	ctx := context.Background()
	l := acquire(t, locksAt(t, s.Addr()), t.Name())
	if err := dial(t, s.Addr()).Do(ctx, "acl", "setuser", "default", "-subscribe", "-psubscribe").Err(); err != nil {
		t.Fatal(err)
	}
	w := await(t, locksAt(t, s.Addr()), t.Name())
	pause(200 * time.Millisecond) // it would have subscribed by now
	release(t, l)
	w.gets(t, promptly)
}
