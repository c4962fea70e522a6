package faults_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// takeOver has another client wait for the key of l, which its holder must have lost by
// the time that the other one has it.
func takeOver(t *testing.T, l *distlock.Lease, other *distlock.Client) *distlock.Lease {
	t.Helper()
	done := l.Done()
	var next *distlock.Lease
	eventually(t, bound, "another has the key", func() bool {
		var err error
		next, err = other.Acquire(within(t, bound), l.Key())
		return err == nil // else the service is electing
	})
	in, signaled := time.Now(), isClosed(done)
	if early := l.Deadline().Sub(in); early > 0 {
		t.Errorf("the next holder was in %v before the deadline", early)
	}
	if l.Valid() {
		t.Error("the lease said it was valid when the next holder was in")
	}
	if !signaled {
		t.Log("Done was not closed yet: the machine is slow") // Valid decides
	}
	checkFence(t, l.Key(), l.Token(), next.Token())
	return next
}

// Stands for: a client whose server is cut off from its leader, and that takes the reads
// which that server goes on answering for a sign that its session lives; or whose server
// is the leader, and has not noticed that nobody follows it any more.
func TestZooKeeperServerCutOffGoesOnAnswering(t *testing.T) {
	t.Parallel()
	const (
		ttl     = 2 * time.Second
		holders = 8
	)
	e := servers.Start(t, servers.ZooKeeperTrioWith("syncLimit=30")) // 6 s until a member gives the others up
	for _, c := range []struct {
		name    string
		victim  func(testing.TB, *servers.Ensemble) *servers.Member
		answers bool // when another gets the key
	}{{"a follower", follower, true}, {"the leader", leads, false}} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "the leader" {
				covers(t, "zookeeper", leaderCutOff)
			}
			m := c.victim(t, e)
			k := newKeeper(t, besides(e, m)...)
			reader := k.connect(m.Addr())
			other := k.locks(ttl)
			var leases []*distlock.Lease
			for i := range holders {
				leases = append(leases, acquire(t, k.locks(ttl, m.Addr()), fmt.Sprint("answers-", i)))
				pause(ttl / 3 / holders) // so that each is at another point of its renewal when the cut comes
			}
			servers.Do(t, m.CutOff)
			var running sync.WaitGroup
			for _, l := range leases {
				running.Go(func() {
					next := takeOver(t, l, other)
					there, _, err := reader.Exists(k.parent(l.Key()))
					if c.answers && (err != nil || !there) {
						t.Errorf("the server that is cut off does not answer reads: %v, %v", there, err)
					}
					release(t, next)
				})
			}
			running.Wait()
			servers.Do(t, m.Heal)
			allFollow(t, e)
		})
	}
}

// Stands for: a lease of the least TTL that the servers' default configuration allows a
// client to keep, lost for no reason as a renewal counts only a tick later.
func TestZooKeeperWithTheDefaultTickIsRenewed(t *testing.T) {
	t.Parallel()
	s := servers.Start(t, servers.ZooKeeperWith("tickTime=2000"))
	for _, ttl := range []time.Duration{5 * time.Second, 8 * time.Second} {
		t.Run(fmt.Sprint(ttl), func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t, s.Addr())
			k.tick = 2 * time.Second
			l := acquire(t, k.locks(ttl), fmt.Sprint("tick-", ttl))
			throughout(t, 2*ttl, "it is renewed", l.Valid)
			release(t, l)
			crashed := acquire(t, k.locks(ttl), fmt.Sprint("crash-", ttl), distlock.WithoutRenewal())
			release(t, takeOver(t, crashed, k.locks(ttl)))
		})
	}
}
