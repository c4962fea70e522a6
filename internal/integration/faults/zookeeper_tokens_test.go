package faults_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	"github.com/go-zookeeper/zk"
)

// Stands for: tokens that start again when the lock's node, or its parent with the
// sequence in it, is gone, and those that go back with another leader or after a restart.
func TestZooKeeperTokensGrowOverEverything(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	e := servers.Start(t, servers.ZooKeeperTrio)
	k := newKeeper(t, e.Addrs()...)
	parentGone := func(t *testing.T, l *distlock.Lease) {
		if l != nil {
			release(t, l)
		}
		eventually(t, bound, "the server removes the empty container", func() bool {
			there, _, err := k.admin.Exists(k.parent("tokens"))
			return err == nil && !there
		})
	}
	var last distlock.Token
	for _, c := range []struct {
		name string
		end  func(*testing.T, *distlock.Lease)
	}{
		{"release", func(t *testing.T, l *distlock.Lease) { release(t, l) }},
		{"parent removed", parentGone},
		{"deletion of the node", func(t *testing.T, l *distlock.Lease) {
			if err := k.admin.Delete(k.nodes("tokens")[0], -1); err != nil {
				t.Error(err)
			}
		}},
		{"deletion of node and parent", func(t *testing.T, l *distlock.Lease) {
			_, err := k.admin.Multi(
				&zk.DeleteRequest{Path: k.nodes("tokens")[0], Version: -1}, &zk.DeleteRequest{Path: k.parent("tokens"), Version: -1})
			if err != nil {
				t.Error(err)
			}
		}},
		{"end of the session", func(t *testing.T, l *distlock.Lease) { k.expel(k.nodes("tokens")[0]) }},
		{"expiry", nil},
		{"change of leader", func(t *testing.T, l *distlock.Lease) {
			release(t, l)
			m := leads(t, e)
			servers.Do(t, m.Kill, m.Start)
		}},
		{"full restart", func(t *testing.T, l *distlock.Lease) { release(t, l); servers.Do(t, e.Kill, e.Start) }},
		{"parent removed after it", parentGone},
	} {
		var l *distlock.Lease
		locks := k.locks(ttl)
		eventually(t, bound, "the key can be had", func() bool {
			var err error
			l, err = locks.TryAcquire(within(t, bound), "tokens")
			return err == nil
		})
		if l.Token() <= last {
			t.Errorf("before %s: token %v after %v", c.name, l.Token(), last)
		}
		last = l.Token()
		if c.end == nil {
			ctx, cancel := context.WithTimeout(t.Context(), 0)
			_ = locks.Close(ctx) // leaves nothing but what runs out
			cancel()
			continue
		}
		c.end(t, l)
	}
}

// Stands for: waiters of several processes that are not served in the order in which
// they came, or all at once.
func TestZooKeeperServesProcessesInTheirOrder(t *testing.T) {
	t.Parallel()
	const ttl = 20 * time.Second
	k := newKeeper(t, servers.Start(t, servers.ZooKeeper).Addr()) // whose watches are ours
	l := acquire(t, k.locks(ttl), "order")
	before := k.figure("zk_watch_count")
	const n = 12
	served := make(chan int, n)
	var running sync.WaitGroup
	for i := range n {
		locks := k.locks(ttl)
		running.Go(func() {
			l, err := locks.Acquire(within(t, bound), "order")
			served <- i
			if err != nil {
				t.Errorf("waiter %d: %v", i, err)
				return
			}
			if err := l.Release(t.Context()); err != nil {
				t.Errorf("waiter %d: %v", i, err)
			}
		})
		eventually(t, bound, "it stands in the queue", func() bool { return k.queued("order", i+2) })
		eventually(t, bound, "it watches its own node and the one before it", func() bool {
			n := k.figure("zk_watch_count") - before - 2*(i+1)
			return n == 0 || n == 1 // the holder's own
		})
	}
	release(t, l)
	var order []int
	for range n {
		order = append(order, <-served)
	}
	running.Wait() // their clients are closed with the test
	if !slices.IsSorted(order) {
		t.Errorf("served in the order %v", order)
	}
}
