package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	"github.com/distlock-go/distlock/redlock"
	goredis "github.com/redis/go-redis/v9"
)

// steps are what happens to the clock of one node.
var steps = []time.Duration{time.Hour, -time.Hour, 0, 10 * time.Second, -30 * time.Hour, 0}

// Stands for: a step of one node's clock frees the lock, or keeps it, or lets tokens go
// back.
func TestRedlockClockOfOneNodeSteps(t *testing.T) {
	t.Parallel()
	covers(t, "redlock", clockForward)
	covers(t, "redlock", clockBack)
	m := masters(t, servers.Redis.WithClock())
	nodes := dialAll(t, m)
	for _, fenced := range []bool{false, true} {
		o := redlock.Options{Fenced: fenced, Prefix: "plain:"}
		if fenced {
			o.Prefix = "fenced:"
		}
		locks := locksOver(t, m, o, distlock.WithTTL(6*time.Second))
		others := locksOver(t, m, o, distlock.WithTTL(6*time.Second))
		var last distlock.Token
		for _, d := range steps {
			l := acquire(t, locks, "k")
			// Not just a majority, which the clock of one node can undo. A node from
			// which the last owner was not gone yet gets the lock with a renewal.
			eventually(t, bound, "all nodes have it", func() bool { return onAll(t, nodes, o.Prefix+"{k}") })
			servers.Do(t, func(ctx context.Context) error { return m.Nodes[1].ShiftClock(ctx, d) })
			for range 50 {
				if got, err := others.TryAcquire(t.Context(), "k"); !errors.Is(err, distlock.ErrHeld) && l.Valid() {
					t.Fatalf("clock %v: granted: %v, %v, want ErrHeld", d, got != nil, err)
				}
			}
			if !l.Valid() {
				t.Errorf("clock %v: got %v, want the lease kept", d, l.Err())
			}
			release(t, l)
			if fenced && l.Token() <= last {
				t.Errorf("clock %v: got token %v after %v", d, l.Token(), last)
			}
			next := acquire(t, others, "k")
			if fenced && next.Token() <= l.Token() {
				t.Errorf("clock %v: got token %v after %v", d, next.Token(), l.Token())
			}
			last = next.Token()
			release(t, next)
		}
	}
}

// onAll reports whether all nodes have something under name.
func onAll(t *testing.T, nodes []goredis.UniversalClient, name string) bool {
	for _, c := range nodes {
		if value(t, c, name) == "" {
			return false
		}
	}
	return true
}
