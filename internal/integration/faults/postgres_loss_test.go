package faults_test

import (
	"context"
	"fmt"
	"sync"
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

// Stands for: a holder whose packets are dropped silently keeps its lock for hours, as the
// server waits for its TCP; or goes on beside the next one. Here the server throws it out
// after one TTL, and by then it knows.
func TestServerThrowsOutTheCutOff(t *testing.T) {
	t.Parallel()
	const (
		clients = 12
		rounds  = 4 // of each
		ttl     = 2 * time.Second
	)
	s := healthyDatabase(t)
	link := s.Proxy(t)
	next := pgLocks(t, s.Addr(), distlock.WithTTL(ttl))
	machine := watchMachine(t)
	var all []*round
	var running sync.WaitGroup
	for i := range clients {
		first := pgLocks(t, link.Addr(), distlock.WithTTL(ttl))
		for j := range rounds {
			r := &round{lease: acquire(t, first, fmt.Sprintf("%s-%d-%d", t.Name(), i, j))}
			all = append(all, r)
			r.context = r.lease.Context(t.Context()).Done()
			running.Go(func() { <-r.context; r.done = time.Now() })
			running.Go(func() { r.follow(t, next) })
		}
		pause(ttl / 3 / clients) // so that each is at another point of its renewal when the cut comes
	}
	link.Set(proxy.Swallow, proxy.Swallow)
	running.Wait()
	var gap durations
	excused := 0
	for i, r := range all {
		if err := r.check(machine); err == errStalled {
			excused++
		} else if err != nil {
			t.Errorf("round %d: %v", i, err)
		}
		gap = append(gap, r.in.Sub(r.deadline))
	}
	t.Logf("next holder after Deadline: %v; %d of %d rounds not judged by Done", gap, excused, len(all))
	if excused > len(all)/2 {
		t.Errorf("the machine stalled in %d of %d rounds: too many to say anything", excused, len(all))
	}
}

// Stands for: a server that was frozen frees nothing, and when it goes on lets a holder
// go on that should have ended.
func TestFrozenDatabase(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Postgres)
	const ttl = 2 * time.Second
	first, other := pgLocks(t, s.Addr(), distlock.WithTTL(ttl)), pgWaits(t, s.Addr(), distlock.WithTTL(ttl))
	l := acquire(t, first, "frozen")
	w := await(t, other.Client, "frozen")
	other.await(t)
	servers.Do(t, s.Pause)
	eventually(t, 2*ttl, "the holder ends by itself", func() bool { return isClosed(l.Done()) })
	pause(ttl)
	servers.Do(t, s.Resume)
	w.gets(t, bound)
	if l.Valid() || !isLost(l.Err()) {
		t.Errorf("got %v, want a lease that stays lost", l.Err())
	}
	release(t, acquire(t, first, "frozen"))
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
