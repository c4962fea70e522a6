package faults_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// Stands for: an election ended all locks, as the holders' clients took an answer of
// "no leader" for a loss, or as sessions were not carried over.
func TestConsulLeaseOutlivesAnElection(t *testing.T) {
	t.Parallel()
	const ttl = 12 * time.Second
	e := servers.Start(t, servers.ConsulTrio)
	for _, c := range []struct {
		name     string
		fault    fault
		cut, end change
	}{
		{"killed", leaderKilled, killMember, startMember},
		{"paused", leaderPaused, pauseMember, resumeMember},
		{"cut off", "", (*servers.Member).CutOff, (*servers.Member).Heal},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.fault != "" {
				covers(t, "consul", c.fault)
			}
			leader, others := consulRoles(t, e)
			holder := consulLocks(t, others[0].Addr(), distlock.WithTTL(ttl))
			other := consulLocks(t, others[1].Addr(), distlock.WithTTL(ttl))
			l := acquire(t, holder, "election-"+c.name)
			mustDo(t, leader, c.cut)
			refusedThroughout(t, other, l, ttl*3/2)
			release(t, l)
			next := acquire(t, other, l.Key())
			if next.Token() <= l.Token() {
				t.Errorf("got token %v after %v", next.Token(), l.Token())
			}
			release(t, next)
			mustDo(t, leader, c.end)
		})
	}
}

// refusedThroughout checks for d that l is valid and that other cannot have its key.
func refusedThroughout(t *testing.T, other distlock.Locker, l *distlock.Lease, d time.Duration) {
	t.Helper()
	throughout(t, d, "the lease is valid and nobody else has its key", func() bool {
		got, err := other.TryAcquire(within(t, time.Second), l.Key())
		if err == nil {
			t.Errorf("another holder got in with token %v", got.Token())
			release(t, got)
		}
		if !l.Valid() {
			t.Errorf("the lease ended: %v", l.Err())
		}
		return err != nil && l.Valid()
	})
}

// Stands for: sessions and locks that a restart of all servers drops.
func TestConsulLeaseOutlivesARestartOfAllServers(t *testing.T) {
	t.Parallel()
	e := servers.Start(t, servers.ConsulTrio)
	holder := consulLocks(t, e.Members[0].Addr(), distlock.WithTTL(time.Minute))
	other := consulLocks(t, e.Members[1].Addr(), distlock.WithTTL(time.Minute))
	l := acquire(t, holder, "restart")
	servers.Do(t, e.Stop, e.Start)
	refusedThroughout(t, other, l, 3*time.Second)
	release(t, l)
	next := acquire(t, other, l.Key())
	if next.Token() <= l.Token() {
		t.Errorf("got token %v after %v", next.Token(), l.Token())
	}
	release(t, next)
}

// Servers that all crash at once can forget which nodes there are, and then end those
// nodes' sessions when they come back. What keeps the next holder out is the lock-delay.
func TestConsulLockDelayCoversACrashOfAllServers(t *testing.T) {
	t.Parallel()
	covers(t, "consul", serverRestarted)
	const ttl, delay = 10 * time.Second, 12 * time.Second
	e := servers.Start(t, servers.ConsulTrio)
	holder := consulLocks(t, e.Members[0].Addr(), distlock.WithTTL(ttl), distlock.WithLockDelay(delay))
	other := consulLocks(t, e.Members[1].Addr(), distlock.WithTTL(ttl), distlock.WithLockDelay(delay))
	for range 3 {
		l := acquire(t, holder, "crash")
		servers.Do(t, e.Kill, e.Start)
		var next *distlock.Lease
		for end := time.Now().Add(ttl + delay); next == nil && time.Now().Before(end); pause(10 * time.Millisecond) {
			next, _ = other.TryAcquire(within(t, time.Second), l.Key())
		}
		if next == nil { // the session lived on, or the election took long
			t.Logf("nobody else had the key; the lease is valid: %v", l.Valid())
			l.Release(t.Context())
			continue
		}
		if l.Valid() || time.Now().Before(l.Deadline()) || next.Token() <= l.Token() {
			t.Errorf("the next holder is in %v before the deadline with token %v after %v, the lease is valid: %v",
				time.Until(l.Deadline()), next.Token(), l.Token(), l.Valid())
		}
		t.Logf("the next holder was in %v after the deadline", -time.Until(l.Deadline()))
		release(t, next)
	}
}

// Tokens of one key, over everything that can happen to it but the loss of all servers'
// data.
func TestConsulTokensGrowOverEverything(t *testing.T) {
	t.Parallel()
	const key, ttl = "tokens", time.Second
	e := servers.Start(t, servers.ConsulTrio)
	addr := func(i int) string { return e.Members[i%3].Addr() }
	last := distlock.Token(0)
	n := 0
	grant := func(after string) *distlock.Lease {
		t.Helper()
		n++
		var l *distlock.Lease
		eventually(t, bound, "a grant after "+after, func() (ok bool) {
			var err error
			l, err = consulLocks(t, addr(n), distlock.WithTTL(ttl)).Acquire(within(t, bound), key)
			return err == nil
		})
		if l.Token() <= last {
			t.Errorf("after %s: got token %v after %v", after, l.Token(), last)
		}
		t.Logf("after %s: %v", after, l.Token())
		last = l.Token()
		return l
	}
	admin := consulAt(t, addr(0))
	release(t, grant("nothing"))
	l := grant("a release")
	if _, err := admin.Session().Destroy(consulEntry(t, admin, key).Session, nil); err != nil {
		t.Fatal(err)
	}
	l.Release(t.Context())
	l = grant("the end of a session")
	if _, err := admin.KV().Delete("distlock/"+key, nil); err != nil {
		t.Fatal(err)
	}
	l.Release(t.Context())
	l = grant("a deletion")
	if _, err := admin.KV().DeleteTree("", nil); err != nil {
		t.Fatal(err)
	}
	l.Release(t.Context())
	link := e.Members[0].Proxy(t)
	release(t, grant("the deletion of everything"))
	cut := acquire(t, consulLocks(t, link.Addr(), distlock.WithTTL(ttl)), key)
	last = cut.Token()
	link.Cut()
	link.Close()
	release(t, grant("an expiry"))
	leader, _ := consulRoles(t, e)
	servers.Do(t, leader.Kill)
	for addr(n+1) == leader.Addr() {
		n++
	}
	release(t, grant("an election"))
	servers.Do(t, leader.Start, e.Kill, e.Start)
	release(t, grant("a restart of all"))
}
