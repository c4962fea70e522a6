package faults_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// Stands for: attempts that fail and waits that give up, each leaving a node, a watch, a
// goroutine, a connection or a session, until something is full.
func TestZooKeeperFailedTriesLeaveNothing(t *testing.T) {
	// Not parallel: it counts the goroutines of the process.
	const (
		ttl   = 30 * time.Second
		tries = 1000
	)
	s := servers.Start(t, servers.ZooKeeper)
	k := newKeeper(t, s.Addr())
	holder := acquire(t, k.locks(ttl), "failed")
	locks := k.locks(ttl)
	fail := func(i int) {
		if i%2 == 0 {
			if _, err := locks.TryAcquire(t.Context(), "failed"); !errors.Is(err, distlock.ErrHeld) {
				t.Fatalf("try %d: got %v, want ErrHeld", i, err)
			}
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%20)*time.Millisecond)
		defer cancel()
		if _, err := locks.Acquire(ctx, "failed"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("try %d: got %v, want the deadline's error", i, err)
		}
	}
	for i := range 20 {
		fail(i)
	}
	settled := func() residual {
		eventually(t, bound, "only the holder's node is left", func() bool { return len(k.nodes("failed")) == 1 })
		return residual{
			watches: k.figure("zk_watch_count"), connections: k.figure("zk_num_alive_connections"),
			ephemerals: k.figure("zk_ephemerals_count"), goroutines: runtime.NumGoroutine(),
		}
	}
	before := settled()
	for i := range tries {
		fail(i)
	}
	var after residual
	eventually(t, 4*bound, "nothing is left of them", func() bool {
		after = settled()
		return after.watches <= before.watches && after.connections <= before.connections &&
			after.ephemerals <= before.ephemerals && after.goroutines <= before.goroutines
	})
	t.Logf("before %+v, after %+v", before, after)
	release(t, holder)
	eventually(t, bound, "no node is left", func() bool { return k.figure("zk_ephemerals_count") == 0 })
	eventually(t, bound, "no watch is left", func() bool { return k.figure("zk_watch_count") == 0 })
}

// Stands for: a goroutine, a connection or a blocking request for each lock that is held.
func TestZooKeeperHeldLeasesAddNothing(t *testing.T) {
	// Not parallel: it counts the goroutines of the process.
	s := servers.Start(t, servers.ZooKeeper)
	k := newKeeper(t, s.Addr())
	locks := k.locks(20 * time.Second)
	acquire(t, locks, "held-first")
	connections, goroutines := k.figure("zk_num_alive_connections"), runtime.NumGoroutine()
	const n = 1000
	for i := range n {
		acquire(t, locks, fmt.Sprint("held-", i))
	}
	if got := k.figure("zk_num_alive_connections"); got != connections {
		t.Errorf("%d connections for %d leases, %d for one", got, n, connections)
	}
	eventually(t, bound, "there are no more goroutines", func() bool { return runtime.NumGoroutine() <= goroutines })
	if got := k.figure("zk_ephemerals_count"); got != n+1 {
		t.Errorf("%d nodes for %d leases", got, n+1)
	}
}

// A residual is what failed tries could leave.
type residual struct{ watches, connections, ephemerals, goroutines int }
