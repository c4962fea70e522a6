package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// Stands for: calls hang with a server that was stopped; and once it goes on, it grants,
// renews or revokes what nobody here counts on any more.
func TestFrozenServerGoesOn(t *testing.T) {
	t.Parallel()
	const ttl = time.Second
	s := servers.Start(t, servers.Redis)
	old := acquire(t, locksAt(t, s.Addr(), distlock.WithTTL(ttl)), "frozen")
	locks := locksAt(t, s.Addr(), distlock.WithTTL(20*time.Second))
	long := acquire(t, locks, "long")
	w := await(t, locksAt(t, s.Addr()), "frozen")
	listens(t, s, "frozen")
	servers.Do(t, s.Pause)
	const limit = 100 * time.Millisecond
	took := timed(func() {
		_, err := locks.Acquire(within(t, limit), "other")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the caller's deadline", err)
		}
	})
	if took > limit+time.Second/2 {
		t.Errorf("it took %v, want %v", took, limit)
	}
	eventually(t, 2*ttl, "the holder is told by its deadline", func() bool { return isClosed(old.Done()) })
	pause(ttl) // there are renewals and deletes of it on their way now
	servers.Do(t, s.Resume)
	next := w.take(t, 3*time.Second)
	rdb := dial(t, s.Addr())
	granted := value(t, rdb, lockName("frozen"))
	throughout(t, ttl, "what comes late spares the next lease", func() bool {
		return value(t, rdb, lockName("frozen")) == granted
	})
	if !long.Valid() {
		t.Errorf("got %v, want a longer lease to live on", long.Err())
	}
	if err := old.Release(t.Context()); !errors.Is(err, distlock.ErrLost) {
		t.Errorf("got %v from Release, want ErrLost", err)
	}
	checkFence(t, "frozen", old.Token(), next.Token())
	release(t, next)
	release(t, long)
	release(t, acquire(t, locksAt(t, s.Addr()), "other")) // nothing is left of it
}

// Stands for: connections are reset, new ones lead nowhere, and the holder, busy with
// connecting, never looks at the clock.
func TestResetOnADeadNetworkIsToldByTheDeadline(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	w := newWire(t, distlock.WithTTL(ttl))
	l := acquire(t, w.locks, t.Name())
	w.link.Cut()
	w.link.Set(proxy.Swallow, proxy.Swallow)
	next := acquire(t, locksAt(t, w.server.Addr()), t.Name())
	if l.Valid() || !isClosed(l.Done()) {
		t.Errorf("it is valid until %v, beside the next holder", l.Deadline())
	}
	checkFence(t, t.Name(), l.Token(), next.Token())
	release(t, next)
}

// Stands for: a wait without a deadline goes on for ever, in silence, when its server
// never comes back.
func TestWaitEndsWhenTheServerStaysDown(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	s := servers.Start(t, servers.Redis)
	held := acquire(t, locksAt(t, s.Addr(), distlock.WithTTL(ttl)), "down")
	locks := locksAt(t, s.Addr(), distlock.WithTTL(ttl))
	result := make(chan error, 1)
	go func() {
		_, err := locks.Acquire(context.Background(), "down")
		result <- err
	}()
	listens(t, s, "down")
	servers.Do(t, s.Kill)
	select {
	case err := <-result:
		if err == nil || errors.Is(err, distlock.ErrHeld) || !strings.Contains(err.Error(), "refused") {
			t.Errorf("got %v, want what the server's address answers", err)
		}
	case <-time.After(bound):
		t.Errorf("it still waits after %v", bound)
	}
	eventually(t, 2*ttl, "the holder is told by its deadline", func() bool { return isClosed(held.Done()) })
}
