package faults_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// Stands for: a goroutine, a timer or a request for every lock that is held, so that a
// process with many locks melts itself or its server, or is late to renew.
func TestTenThousandLeasesAreRenewedTogether(t *testing.T) {
	// Not parallel: it counts the process's goroutines.
	const (
		leases = 10_000
		ttl    = 5 * time.Second
		chunks = leases/500 + 1 // goroutines that renew, for a moment
	)
	var renewed, failed, lost atomic.Int64
	trace := &distlock.Trace{
		Renewed: func(i distlock.RenewInfo) {
			renewed.Add(1)
			if i.Err != nil {
				failed.Add(1)
			}
		},
		Lost: func(distlock.LostInfo) { lost.Add(1) },
	}
	locks := locksAt(t, healthyServer(t).Addr(), distlock.WithTTL(ttl), distlock.WithTrace(trace))
	release(t, acquire(t, locks, "crowd-warm"))
	before := runtime.NumGoroutine()
	held := acquireMany(t, locks, "crowd", leases)
	low, high := 1<<30, 0
	var quiet durations
	for end := time.Now().Add(3 * ttl); time.Now().Before(end); pause(5 * time.Millisecond) {
		n := runtime.NumGoroutine()
		low, high = min(low, n), max(high, n)
		if n <= before+4 {
			quiet = append(quiet, 0)
		}
	}
	t.Logf("goroutines: %d before, %d to %d while 10,000 leases were held; %d renewals, %d failed",
		before, low, high, renewed.Load(), failed.Load())
	if low > before+4 || high > before+4*chunks || len(quiet) < 100 {
		t.Errorf("got %d to %d goroutines, want %d between renewals and at most %d more", low, high, before, 4*chunks)
	}
	if n := renewed.Load(); n < 8*leases || n > 14*leases {
		t.Errorf("got %d renewals in three TTLs, want about 9 a lease", n)
	}
	for _, l := range held {
		if !l.Valid() {
			t.Fatalf("%s: %v; %d were lost", l.Key(), l.Err(), lost.Load())
		}
	}
	if err := locks.Close(within(t, bound)); err != nil {
		t.Error(err)
	}
}

// acquireMany takes n keys, some at a time.
func acquireMany(t *testing.T, locks *distlock.Client, prefix string, n int) []*distlock.Lease {
	t.Helper()
	leases := make([]*distlock.Lease, n)
	var next atomic.Int64
	var working sync.WaitGroup
	for range 100 {
		working.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				l, err := locks.Acquire(t.Context(), fmt.Sprintf("%s-%d", prefix, i))
				if err != nil {
					t.Error(err)
					return
				}
				leases[i] = l
			}
		})
	}
	working.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return leases
}

// Stands for: waiters that each ask the server in a loop, at more than 100 % of a CPU
// and as many requests a second as the server can take.
func TestWaitersAskTheServerSeldom(t *testing.T) {
	t.Parallel()
	const (
		waiters = 1_000
		watched = 5 * time.Second
		// What the head of a line may cost in that time: a poll at least every
		// 0.75 s is three commands with those in the script.
		perClient = 30
	)
	for _, clients := range []int{1, 20} { // 20 stand in for as many processes
		t.Run(fmt.Sprintf("%d clients", clients), func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, servers.Redis)
			holder := acquire(t, locksAt(t, s.Addr()), "crowd")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var waiting sync.WaitGroup
			for range clients {
				locks := locksAt(t, s.Addr())
				for range waiters / clients {
					waiting.Go(func() {
						if l, err := locks.Acquire(ctx, "crowd"); err == nil {
							t.Errorf("got a lease with token %v, want the wait to end by its ctx", l.Token())
						}
					})
				}
			}
			watch := dial(t, s.Addr())
			eventually(t, bound, "all clients listen", func() bool {
				n, err := watch.PubSubNumSub(t.Context(), lockName("crowd")+":free").Result()
				return err == nil && n[lockName("crowd")+":free"] == int64(clients)
			})
			before := commands(t, watch)
			pause(watched)
			n := commands(t, watch) - before
			t.Logf("%d commands in %v for %d waiters of %d clients", n, watched, waiters, clients)
			if n > int64(clients*perClient) {
				t.Errorf("got %d commands, want at most %d", n, clients*perClient)
			}
			cancel()
			waiting.Wait()
			release(t, holder)
		})
	}
}
