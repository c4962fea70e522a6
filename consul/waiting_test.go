package consul_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
)

// counting counts requests.
func counting(n *atomic.Int64) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		n.Add(1)
		return next.RoundTrip(r)
	}
}

// Stands for: a lost race was taken for a lock-delay, and a waiter slept for 5 s
// while the key was free.
func TestTwoContendersHandOver(t *testing.T) {
	const rounds = 50
	opts := options()
	var requests atomic.Int64
	var turn atomic.Int64 // who had the key last
	var waits [2][]time.Duration
	var running sync.WaitGroup
	var released atomic.Int64
	start := time.Now()
	clients := [2]*distlock.Client{}
	for i := range clients {
		clients[i] = locks(t, consullock.New(connect(t, through(counting(&requests))), opts))
		l := acquire(t, clients[i], "warm-up")
		release(t, l)
	}
	requests.Store(0)
	for i, c := range clients {
		running.Go(func() {
			for range rounds {
				l, err := c.Acquire(within(t, time.Minute), "k")
				if err != nil {
					t.Error(err)
					return
				}
				if turn.Swap(int64(i+1)) == int64(2-i) {
					waits[i] = append(waits[i], time.Since(start)-time.Duration(released.Load()))
				}
				time.Sleep(2 * time.Millisecond) // work
				released.Store(int64(time.Since(start)))
				release(t, l)
			}
		})
	}
	running.Wait()
	all := slices.Concat(waits[0], waits[1])
	slices.Sort(all)
	t.Logf("%d hand-overs in %d grants: p50 %v, p99 %v; %.1f requests a grant", len(all), 2*rounds,
		all[len(all)/2], all[len(all)*99/100], float64(requests.Load())/(2*rounds))
}

func TestNobodyStarves(t *testing.T) {
	const contenders = 8
	opts := options()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var grants [contenders]int
	var running sync.WaitGroup
	for i := range contenders {
		c := locks(t, consullock.New(connect(t), opts))
		running.Go(func() {
			for {
				l, err := c.Acquire(ctx, "k")
				if err != nil {
					return
				}
				grants[i]++
				release(t, l)
			}
		})
	}
	running.Wait()
	t.Log(grants)
}

func acquire(t testing.TB, c distlock.Locker, key string, opts ...distlock.Option) *distlock.Lease {
	t.Helper()
	l, err := c.Acquire(within(t, time.Minute), key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func release(t testing.TB, l *distlock.Lease) {
	t.Helper()
	if err := l.Release(context.Background()); err != nil {
		t.Errorf("got %v from Release, want nil", err)
	}
}
