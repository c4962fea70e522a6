package faults_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// Stands for: the server ends the connection that a lock lives on, and its holder does
// not look at the socket until it next has something to say.
func TestTerminatedConnectionIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	s := healthyDatabase(t)
	admin := pgPool(t, s.Addr(), 1)
	locks := pgLocks(t, s.Addr(), distlock.WithTTL(time.Hour)) // the next renewal is in 20 minutes
	var took durations
	for i := range 20 {
		key := fmt.Sprintf("%s-%d", t.Name(), i)
		l, second := acquire(t, locks, key), acquire(t, locks, key+"-second")
		start := time.Now()
		pgTerminate(t, admin, key)
		for _, l := range []*distlock.Lease{l, second} {
			select {
			case <-l.Done():
			case <-time.After(2 * time.Second):
				t.Fatal("the holder does not know after two seconds")
			}
		}
		took = append(took, time.Since(start))
		next, err := locks.TryAcquire(within(t, bound), key) // on another connection
		if err != nil || next.Token() <= l.Token() {
			t.Fatalf("the next grant: %v, %v", next, err)
		}
		release(t, next)
		if err := l.Release(t.Context()); !isLost(err) {
			t.Errorf("got %v from Release of a lost lease, want ErrLost", err)
		}
	}
	t.Logf("from the call that ends the connection until both leases have ended: %v", took)
}

// Stands for: after a restart of the server a holder is never told, its unlock says that
// all is well, and its client is of no use any more.
func TestDatabaseRestart(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Postgres)
	for name, end := range map[string]func(context.Context) error{"stopped": s.Stop, "killed": s.Kill} {
		locks, other := pgLocks(t, s.Addr(), distlock.WithTTL(time.Hour)), pgWaits(t, s.Addr())
		l := acquire(t, locks, name)
		w := await(t, other.Client, name)
		other.await(t)
		servers.Do(t, end, s.Start)
		eventually(t, bound, "the holder is told", func() bool { return isClosed(l.Done()) })
		if err := l.Release(t.Context()); !isLost(err) {
			t.Errorf("got %v from Release, want ErrLost", err)
		}
		w.gets(t, bound)
		next := acquire(t, locks, name)
		if next.Token() <= l.Token() {
			t.Errorf("token %v after %v", next.Token(), l.Token())
		}
		release(t, next)
	}
}

// Stands for: a renewal was carried out and its answer came late, and the lease was
// dropped for nothing.
func TestLateAnswerKeepsTheLease(t *testing.T) {
	t.Parallel()
	s := healthyDatabase(t)
	link := s.Proxy(t)
	const ttl = 3 * time.Second
	locks, other := pgLocks(t, link.Addr(), distlock.WithTTL(ttl)), pgLocks(t, s.Addr())
	l := acquire(t, locks, t.Name())
	for range 3 {
		link.Set(proxy.Pass, proxy.Hold)
		pause(ttl / 2)
		link.Set(proxy.Pass, proxy.Pass)
		throughout(t, ttl/2, "the lease lives", l.Valid)
	}
	throughout(t, ttl, "the lease lives on", l.Valid)
	if _, err := other.TryAcquire(t.Context(), t.Name()); !isHeld(err) {
		t.Errorf("got %v, want ErrHeld", err)
	}
	release(t, l)
}
