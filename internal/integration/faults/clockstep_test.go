package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// shiftClock moves the wall clock of a server that was started WithClock.
func shiftClock(t *testing.T, s *servers.Server, d time.Duration) {
	t.Helper()
	servers.Do(t, func(ctx context.Context) error { return s.ShiftClock(ctx, d) })
}

// Stands for: the server's clock is set forward, expires locks before their time, and the
// old holder writes beside the new one. The first is so on Redis, which expires by wall
// clock; what is promised is that the resource keeps the older one out.
func TestClockSetForwardIsFencedOff(t *testing.T) {
	t.Parallel()
	covers(t, "redis", clockForward)
	const ttl = 6 * time.Second
	s := servers.Start(t, servers.Redis.WithClock())
	old := acquire(t, locksAt(t, s.Addr(), distlock.WithTTL(ttl)), "step")
	w := await(t, locksAt(t, s.Addr()), "step")
	listens(t, s, "step")
	shiftClock(t, s, time.Hour)
	w.gets(t, promptly) // it polls
	next := acquire(t, locksAt(t, s.Addr()), "step")
	checkFence(t, "step", old.Token(), next.Token())
	eventually(t, ttl/3+time.Second, "the old holder is told by its next renewal", func() bool { return isClosed(old.Done()) })
	if err := old.Release(t.Context()); !errors.Is(err, distlock.ErrLost) {
		t.Errorf("got %v from Release, want ErrLost", err)
	}
	throughout(t, ttl/2, "the next lease is renewed", next.Valid)
	release(t, next)
}

// Stands for: the server's clock is set back, and a lock outlives its holder by as much,
// or for ever.
func TestClockSetBackKeepsALockForAsLong(t *testing.T) {
	t.Parallel()
	covers(t, "redis", clockBack)
	const ttl = time.Second
	s := servers.Start(t, servers.Redis.WithClock())
	locks, link := locksAt(t, s.Addr()), s.Proxy(t)
	crashed := acquire(t, locksAt(t, link.Addr()), "step", distlock.WithTTL(ttl))
	link.Set(proxy.Swallow, proxy.Swallow) // it cannot clean up
	t.Cleanup(link.Cut)                    // so that it closes
	held := acquire(t, locks, "held", distlock.WithTTL(ttl))
	shiftClock(t, s, -time.Hour)
	eventually(t, 2*ttl, "the holder's own clock tells it", func() bool { return isClosed(crashed.Done()) })
	throughout(t, 2*ttl, "nobody gets the key", func() bool {
		_, err := locks.TryAcquire(t.Context(), "step")
		return err != nil // ErrHeld, or no answer on a busy machine
	})
	if !held.Valid() {
		t.Errorf("got %v, want a lease that is renewed as before", held.Err())
	}
	release(t, held)
	w := await(t, locks, "step")
	shiftClock(t, s, 0)
	w.gets(t, promptly)
}

// Stands for: tokens taken from the server's clock go back with it, and those from a
// counter that has expired start again.
func TestTokensGrowWhateverTheClockDoes(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.Redis.WithClock())
	locks := locksAt(t, s.Addr())
	const day = 24 * time.Hour
	last := acquire(t, locks, "step")
	release(t, last)
	for _, shift := range []time.Duration{
		time.Second, 0, -time.Second, -time.Hour, time.Hour, -day, // the counter is ahead of the clock
		2 * day, 0, // it has expired, and is two days ahead then
		day + day/2, // more than it is kept, and still before the last token
		5 * day, 0,
	} {
		shiftClock(t, s, shift)
		for range 3 {
			l := acquire(t, locks, "step")
			if l.Token() <= last.Token() {
				t.Errorf("got token %v after %v with the clock at %v", l.Token(), last.Token(), shift)
			}
			last = l
			release(t, l)
		}
	}
}

// Stands for: sessions that are expired by a clock which is stepped, so that a step forward
// takes all locks away.
func TestSteppedClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault fault
		by    time.Duration
	}{{clockForward, time.Hour}, {clockBack, -time.Hour}} {
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			forBackends(t, c.fault, func(t *testing.T, s *service, in cell) {
				f := fleet{servers.Start(t, steppedSpecs[s.name].WithClock())}
				link := f.link(t)
				ttl := distlock.WithTTL(longTTL * 2 / 3)
				held := insist(t, s.locks(t, f.addrs(), ttl), keyOf(t)+"-held")
				lost := insist(t, s.locks(t, link.addrs(), ttl), keyOf(t))
				w := waitFor(t, s, f.addrs(), lost.Key())
				link.set(proxy.Swallow, proxy.Swallow)
				shiftClock(t, f[0], c.by)
				throughout(t, longTTL/3, "a lease that is renewed lives on", held.Valid)
				staysHeld(t, s, f, held)
				<-lost.Done()
				pause(longTTL / 3)
				if in.note != "" { // a time-out of Postgres's that was running runs for as much longer
					s.admin(t, f).endSession(lost.Key())
				}
				next := w.take(t, 2*bound)
				in.judge(t, lost, next, time.Now())
				release(t, next)
				release(t, held)
				again := acquire(t, s.locks(t, f.addrs()), held.Key())
				checkFence(t, held.Key(), held.Token(), again.Token())
				release(t, again)
			})
		})
	}
}

// steppedSpecs are the servers whose clocks are stepped there.
var steppedSpecs = map[string]servers.Spec{
	"etcd": servers.Etcd, "zookeeper": servers.ZooKeeper, "consul": servers.Consul, "postgres": servers.Postgres,
}
