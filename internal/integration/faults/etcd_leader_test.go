package faults_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Stands for: a leader that is gone takes every lock along, or hands them out anew, or
// revokes the leases that its successor has renewed when it comes back.
func TestEtcdLeaderIsLostAndComesBack(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second // an election takes one to two
	e := servers.Start(t, servers.EtcdTrio)
	last := distlock.Token(0)
	for _, c := range []struct {
		name      string
		fault     fault
		out, back func(*servers.Member, context.Context) error
	}{
		{"stopped", "", (*servers.Member).Stop, (*servers.Member).Start},
		{"killed", leaderKilled, (*servers.Member).Kill, (*servers.Member).Start},
		{"paused", leaderPaused, (*servers.Member).Pause, (*servers.Member).Resume},
		{"cut off", "", (*servers.Member).CutOff, (*servers.Member).Heal},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.fault != "" {
				covers(t, "etcd", c.fault)
			}
			leader, _ := etcdLeader(t, e)
			holder := etcdLocks(t, e.Addrs(), distlock.WithTTL(ttl))
			waiter := etcdLocks(t, e.Addrs(), distlock.WithTTL(ttl))
			l := acquire(t, holder, "leader")
			next := attain(t, waiter, "leader")
			eventually(t, bound, "the waiter is in the queue", func() bool {
				return etcdQueue(t, etcdDial(t, e.Addrs()...), "leader") == 2
			})
			servers.Do(t, func(ctx context.Context) error { return c.out(leader, ctx) })
			staysValid(t, ttl+2*time.Second, "with a new leader", l)
			servers.Do(t, func(ctx context.Context) error { return c.back(leader, ctx) })
			staysValid(t, ttl+2*time.Second, "with the old one back", l)
			if l.Token() <= last {
				t.Errorf("got token %v after %v", l.Token(), last)
			}
			select {
			case a := <-next:
				t.Fatalf("the waiter is in beside the holder: %+v", a)
			default:
			}
			release(t, l)
			a := <-next
			if a.err != nil {
				t.Fatal(a.err)
			}
			if a.lease.Token() <= l.Token() {
				t.Errorf("got token %v after %v", a.lease.Token(), l.Token())
			}
			last = a.lease.Token()
			release(t, a.lease)
		})
	}
}

// Stands for: a client of a member that is cut off from its leader believes in its lock
// as long as the member answers.
func TestEtcdMemberIsCutOffWithItsClients(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	for _, leads := range []bool{true, false} {
		name := "a follower"
		if leads {
			name = "the leader"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if leads {
				covers(t, "etcd", leaderCutOff)
			}
			e := servers.Start(t, servers.EtcdTrio)
			m, others := etcdLeader(t, e)
			if !leads {
				m, others = others[0], append(others[1:], m)
			}
			rest := []string{others[0].Addr(), others[1].Addr()}
			holders := make([]distlock.Locker, 8)
			for i := range holders {
				holders[i] = etcdLocks(t, []string{m.Addr()}, distlock.WithTTL(ttl))
			}
			machine := watchMachine(t)
			h := newHandOffs(t, ttl, holders, func(o distlock.Option) *distlock.Client { return etcdLocks(t, rest, o) })
			stale := etcdlock.NewFence(etcdDial(t, m.Addr()), etcdlock.FenceOptions{Source: "test"})
			if err := stale.Advance(within(t, bound), "account", 1); err != nil {
				t.Fatal(err)
			}
			servers.Do(t, m.CutOff)
			h.check(machine)
			if _, err := holders[0].TryAcquire(within(t, time.Second), "beside"); err == nil {
				t.Error("a member that is cut off grants a lock")
			}
			// Etcd itself would answer both of these by what the member has.
			if _, err := stale.Txn(within(t, time.Second), "account", 1); err == nil {
				t.Error("a member that is cut off takes a token for the latest")
			}
			look := clientv3.OpGet("account", clientv3.WithSerializable())
			if _, err := stale.Txn(within(t, time.Second), "account", 1, look); err == nil {
				t.Error("a member that is cut off reads under a token")
			}
			servers.Do(t, m.Heal)
			eventually(t, bound, "its clients can lock again", func() bool {
				l, err := holders[0].TryAcquire(within(t, time.Second), "beside")
				if err == nil {
					release(t, l)
				}
				return err == nil
			})
		})
	}
}

// Stands for: renewals that stay with a member which has fallen silent, until the lease
// is over.
func TestEtcdRenewsThroughAnotherMember(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second
	e := servers.Start(t, servers.EtcdTrio)
	endpoints := e.Addrs()
	for i, m := range e.Members {
		p := m.Proxy(t)
		through := append([]string{p.Addr()}, append(endpoints[:i:i], endpoints[i+1:]...)...)
		t.Run(m.Name(), func(t *testing.T) {
			cli := etcdDial(t, through...)
			l := acquire(t, etcdOn(t, cli, distlock.WithTTL(ttl)), t.Name())
			other := etcdOn(t, cli)
			release(t, acquire(t, other, t.Name()+"-warm"))
			p.Set(proxy.Swallow, proxy.Swallow)
			defer p.Set(proxy.Pass, proxy.Pass)
			ctx, stop := context.WithCancel(t.Context())
			var asking sync.WaitGroup
			asked, answered := 0, 0
			asking.Go(func() { // so that it is not always the same member's turn at a renewal
				for ; ctx.Err() == nil; asked++ {
					if _, err := other.TryAcquire(within(t, ttl/10), t.Name()); errors.Is(err, distlock.ErrHeld) {
						answered++
					}
				}
			})
			staysValid(t, 2*ttl, "with a member that has fallen silent", l)
			stop()
			asking.Wait()
			t.Logf("%d of %d other requests were answered", answered, asked)
		})
	}
}

// staysValid polls a lease for d, and ends the test with the cause if it is lost.
func staysValid(t testing.TB, d time.Duration, when string, l *distlock.Lease) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); pause(10 * time.Millisecond) {
		if err := l.Err(); err != nil {
			t.Fatalf("%s, %v before the end: %v", when, time.Until(end), err)
		}
	}
}
