package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// Stands for: a lock that is lost, or held twice, when the server that its client talks
// to dies or hangs, or when the leader does; and a client that is of no use afterwards.
func TestZooKeeperEnsembleLosesAMember(t *testing.T) {
	t.Parallel()
	e := servers.Start(t, servers.ZooKeeperTrio)
	leader := func(*dialled) *servers.Member { return leads(t, e) }
	own := func(d *dialled) *servers.Member { return memberAt(t, e, d.server()) }
	for _, c := range []struct {
		name        string
		fault       fault
		victim      func(*dialled) *servers.Member
		strike, end func(*servers.Member, context.Context) error
	}{
		{"the leader is killed", leaderKilled, leader, kill, start},
		{"the client's own server is killed", "", own, kill, start},
		{"the leader is frozen", leaderPaused, leader, freeze, resume},
		{"the client's own server is frozen", "", own, freeze, resume},
		{"the leader is cut off", "", leader, (*servers.Member).CutOff, heal},
		{"the client's own server is cut off", "", own, (*servers.Member).CutOff, heal},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.fault != "" {
				covers(t, "zookeeper", c.fault)
			}
			const ttl = 12 * time.Second // time for an election between two renewals, also on a slow machine
			k := newKeeper(t, e.Addrs()...)
			locks, d := k.locksOver(new(dialled), ttl, e.Addrs()...)
			l := acquire(t, locks, "member")
			eventually(t, bound, "a renewal is almost due: the least time is left", func() bool { return time.Until(l.Deadline()) < 2*ttl/3 })
			m := c.victim(d)
			servers.Do(t, func(ctx context.Context) error { return c.strike(m, ctx) })
			other := k.locks(ttl, besides(e, m)...)
			next := watchOver(t, l, other, l.Deadline().Add(ttl/2))
			if next != nil {
				t.Error("the lease was lost though a majority was there all the time")
				release(t, next)
			} else {
				release(t, l)
			}
			for _, c := range []*distlock.Client{locks, other} {
				again := acquire(t, c, "member")
				if again.Token() <= l.Token() {
					t.Errorf("token %v after %v", again.Token(), l.Token())
				}
				release(t, again)
			}
			servers.Do(t, func(ctx context.Context) error { return c.end(m, ctx) })
			allFollow(t, e)
		})
	}
}

func kill(m *servers.Member, ctx context.Context) error   { return m.Kill(ctx) }
func start(m *servers.Member, ctx context.Context) error  { return m.Start(ctx) }
func freeze(m *servers.Member, ctx context.Context) error { return m.Pause(ctx) }
func resume(m *servers.Member, ctx context.Context) error { return m.Resume(ctx) }
func heal(m *servers.Member, ctx context.Context) error   { return m.Heal(ctx) }

// watchOver tries to get the key of l through another client until l has been renewed
// beyond a point in time. It returns the lease if it gets it, having checked that l knew
// of its end by then.
func watchOver(t *testing.T, l *distlock.Lease, other *distlock.Client, beyond time.Time) *distlock.Lease {
	t.Helper()
	for ; l.Deadline().Before(beyond) && time.Now().Before(beyond.Add(bound)); pause(20 * time.Millisecond) {
		next, err := other.TryAcquire(within(t, bound), l.Key())
		now := time.Now()
		if err != nil {
			continue // held, or the service is electing
		}
		if l.Valid() || now.Before(l.Deadline()) || !errors.Is(l.Err(), distlock.ErrLost) {
			t.Errorf("granted to another %v before the holder's deadline; valid: %v, %v",
				l.Deadline().Sub(now), l.Valid(), l.Err())
		}
		checkFence(t, l.Key(), l.Token(), next.Token())
		return next
	}
	if !l.Valid() {
		t.Errorf("nobody else got the key, and the lease is not valid: %v", l.Err())
	}
	return nil
}

// Stands for: locks and tokens that do not survive a restart of all servers at once.
func TestZooKeeperEnsembleRestartsAsAWhole(t *testing.T) {
	t.Parallel()
	const ttl = 40 * time.Second
	e := servers.Start(t, servers.ZooKeeperTrio)
	k := newKeeper(t, e.Addrs()...)
	locks, other := k.locks(ttl), k.locks(ttl)
	l := acquire(t, locks, "restart")
	type outcome struct {
		lease *distlock.Lease
		err   error
	}
	waiter := make(chan outcome, 1)
	go func() { // ends with its ctx
		l, err := other.Acquire(within(t, 4*bound), "restart")
		waiter <- outcome{l, err}
	}()
	eventually(t, bound, "it waits", func() bool { return k.queued("restart", 2) })
	servers.Do(t, e.Kill)
	down := time.Now()
	servers.Do(t, e.Start)
	took := time.Since(down)
	if took < ttl/2 { // longer than that there need not be a renewal in time
		throughout(t, 3*time.Second, "the lease lives on", l.Valid)
		eventually(t, bound, "holder and waiter are there, once each", func() bool { return len(k.nodes("restart")) == 2 })
		release(t, l)
		got := <-waiter
		if got.err != nil {
			t.Fatal(got.err)
		}
		release(t, got.lease)
	} else {
		t.Logf("the restart took %v: too long to say anything of leases", took)
	}
	servers.Do(t, e.Stop, e.Start)
	var next *distlock.Lease
	eventually(t, bound, "locks can be had", func() bool {
		var err error
		next, err = k.locks(ttl).TryAcquire(within(t, bound), "restart-other")
		return err == nil
	})
	if next.Token() <= l.Token() {
		t.Errorf("token %v after %v", next.Token(), l.Token())
	}
	release(t, next)
}

// Stands for: a client that counts on the time-out that it asked for, and not on the
// shorter one that the server has granted.
func TestZooKeeperServerThatGrantsLessIsRefused(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.ZooKeeperWith("maxSessionTimeout=5000"))
	k := newKeeper(t, s.Addr())
	before := k.figure("zk_num_alive_connections")
	_, err := k.locks(6*time.Second).Acquire(within(t, bound), "granted")
	if !errors.Is(err, distlock.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
	eventually(t, bound, "the session is closed again", func() bool { return k.figure("zk_num_alive_connections") <= before })
	release(t, acquire(t, k.locks(5*time.Second), "granted"))
}
