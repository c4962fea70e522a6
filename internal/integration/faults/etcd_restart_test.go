package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Stands for: a restart of the whole cluster that forgets who holds what, or who waited.
func TestEtcdKeepsLocksOverAFullRestart(t *testing.T) {
	t.Parallel()
	e := servers.Start(t, servers.EtcdTrio)
	long, short := distlock.WithTTL(time.Minute), distlock.WithTTL(2*time.Second)
	kept := acquire(t, etcdLocks(t, e.Addrs(), long), "kept")
	ended := acquire(t, etcdLocks(t, e.Addrs(), short), "ended")
	next := attain(t, etcdLocks(t, e.Addrs(), long), "kept")
	cli := etcdDial(t, e.Addrs()...)
	eventually(t, bound, "the waiter is in the queue", func() bool { return etcdQueue(t, cli, "kept") == 2 })
	servers.Do(t, e.Kill)
	<-ended.Done() // by its own deadline: there is nobody to tell it
	if late := time.Since(ended.Deadline()); late < 0 {
		t.Errorf("lost %v before its deadline", -late)
	}
	servers.Do(t, e.Start)
	after := acquire(t, etcdLocks(t, e.Addrs(), long), "ended")
	if after.Token() <= ended.Token() {
		t.Errorf("got token %v after %v", after.Token(), ended.Token())
	}
	if err := kept.Err(); err != nil {
		t.Errorf("a lease with time enough is gone: %v", err)
	}
	if n := etcdQueue(t, cli, "kept"); n != 2 {
		t.Errorf("%d in the queue, want the holder and the waiter", n)
	}
	release(t, kept)
	a := <-next
	if a.err != nil {
		t.Fatal(a.err)
	}
	if a.lease.Token() <= kept.Token() {
		t.Errorf("got token %v after %v", a.lease.Token(), kept.Token())
	}
	release(t, a.lease)
}

// Stands for: a token that starts again after something was lost.
func TestEtcdTokensOnlyGrow(t *testing.T) {
	t.Parallel()
	e := servers.Start(t, servers.EtcdTrio)
	const ttl = 2 * time.Second
	cli := etcdDial(t, e.Addrs()...)
	a, b := etcdLocks(t, e.Addrs(), distlock.WithTTL(ttl)), etcdLocks(t, e.Addrs(), distlock.WithTTL(ttl))
	last := distlock.Token(0)
	for _, c := range []struct {
		name string
		do   func(t *testing.T, l *distlock.Lease)
	}{
		{"release", func(t *testing.T, l *distlock.Lease) { release(t, l) }},
		{"expiry", func(_ *testing.T, l *distlock.Lease) { <-l.Done() }}, // WithoutRenewal
		{"key deleted", func(t *testing.T, l *distlock.Lease) { etcdDelete(t, cli, etcdlock.DefaultPrefix+l.Key()) }},
		{"all deleted", func(t *testing.T, l *distlock.Lease) { etcdDelete(t, cli, etcdlock.DefaultPrefix) }},
		{"leader changed", func(t *testing.T, l *distlock.Lease) {
			leader, others := etcdLeader(t, e)
			release(t, l)
			servers.Do(t, leader.Kill)
			eventually(t, bound, "another leader", func() bool { return etcdLeads(t, others[0]) || etcdLeads(t, others[1]) })
			servers.Do(t, leader.Start)
		}},
		{"restarted", func(t *testing.T, l *distlock.Lease) {
			release(t, l)
			servers.Do(t, e.Kill, e.Start)
		}},
		{"compacted", func(t *testing.T, l *distlock.Lease) {
			release(t, l)
			if _, err := cli.Compact(within(t, bound), int64(l.Token())); err != nil {
				t.Error(err)
			}
		}},
	} {
		var opts []distlock.Option
		if c.name == "expiry" {
			opts = append(opts, distlock.WithoutRenewal())
		}
		l := acquire(t, a, "grows", opts...)
		c.do(t, l)
		next := acquire(t, b, "grows")
		if l.Token() <= last || next.Token() <= l.Token() {
			t.Errorf("%s: got tokens %v, %v after %v", c.name, l.Token(), next.Token(), last)
		}
		checkFence(t, "grows", l.Token(), next.Token())
		last = next.Token()
		release(t, next)
	}
}

func etcdDelete(t testing.TB, cli *clientv3.Client, prefix string) {
	t.Helper()
	if _, err := cli.Delete(within(t, bound), prefix, clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
}

// Stands for: a lock that is granted to a waiter whose own lease had expired while it
// was cut off.
func TestEtcdWaiterWhoseLeaseHasExpiredIsNotGranted(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	s := healthyEtcd(t)
	link := s.Proxy(t)
	key := t.Name()
	holder := acquire(t, etcdLocks(t, s.Addrs()), key)
	next := attain(t, etcdLocks(t, []string{link.Addr()}, distlock.WithTTL(ttl)), key)
	cli := etcdDial(t, s.Addr())
	eventually(t, bound, "the waiter is in the queue", func() bool { return etcdQueue(t, cli, key) == 2 })
	link.Set(proxy.Hold, proxy.Hold)
	eventually(t, bound, "its lease has expired", func() bool { return etcdQueue(t, cli, key) == 1 })
	release(t, holder)
	other := acquire(t, etcdLocks(t, s.Addrs()), key)
	link.Set(proxy.Pass, proxy.Pass) // it is told now that the first one's key is gone
	throughout(t, time.Second, "the other holds it alone", func() bool {
		select {
		case a := <-next:
			t.Fatalf("the waiter got %+v", a)
		default:
		}
		return other.Valid()
	})
	release(t, other)
	a := <-next
	if a.err != nil {
		t.Fatal(a.err)
	}
	if a.lease.Token() <= other.Token() {
		t.Errorf("got token %v after %v", a.lease.Token(), other.Token())
	}
	release(t, a.lease)
}

// Stands for: calls that hang, and leases that nobody ever tells of, once the server is
// gone for good or frozen.
func TestEtcdThatAnswersNoMoreHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*servers.Server, context.Context) error{
		"killed": (*servers.Server).Kill,
		"paused": (*servers.Server).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ttl = 3 * time.Second
			s := servers.Start(t, servers.Etcd)
			locks := etcdLocks(t, s.Addrs(), distlock.WithTTL(ttl))
			l, waited := acquire(t, locks, "held"), attain(t, locks, "held")
			released := acquire(t, locks, "released")
			servers.Do(t, func(ctx context.Context) error { return end(s, ctx) })
			machine := watchMachine(t)
			start := time.Now()
			_, err := locks.TryAcquire(within(t, time.Second), "free")
			if took := time.Since(start); err == nil || took > 2*time.Second && !machine.stalled(start, time.Now()) {
				t.Errorf("TryAcquire: got %v after %v", err, took)
			}
			if err := released.Release(within(t, time.Second)); err == nil || errors.Is(err, distlock.ErrReleased) {
				t.Errorf("got %v from Release, want that it is not known", err)
			}
			<-l.Done()
			if a := <-waited; a.err == nil {
				t.Error("a waiter got the lock of a server that is gone")
			}
			if err := locks.Close(within(t, closeBound)); err != nil {
				t.Logf("Close: %v", err)
			}
		})
	}
}
