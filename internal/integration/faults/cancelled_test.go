package faults_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	goredis "github.com/redis/go-redis/v9"
)

// A residue looks, one second after each call that was cancelled, whether something of
// it still blocks its key.
type residue struct {
	rdb     *goredis.Client
	keys    chan string
	machine *sentinel
}

// check works off keys as their second is over.
func (r *residue) check(t *testing.T) {
	pending := make(map[string]time.Time)
	var all []string
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for keys := r.keys; keys != nil || len(pending) > 0; {
		select {
		case key, ok := <-keys:
			if !ok {
				keys = nil
				break
			}
			pending[key] = time.Now().Add(time.Second)
			all = append(all, key)
		case now := <-tick.C:
			var due []string
			for key, at := range pending {
				if now.After(at) {
					delete(pending, key)
					if r.machine.stalledFor(at.Add(-time.Second), now) < time.Second/10 { // else the end has to do
						due = append(due, key)
					}
				}
			}
			r.absent(t, due, "a second after the call")
		}
	}
	r.absent(t, all, "at the end")
}

// absent fails the test for each of keys that is on the server.
func (r *residue) absent(t *testing.T, keys []string, when string) {
	if len(keys) == 0 {
		return
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = lockName(key)
	}
	values, err := r.rdb.MGet(t.Context(), names...).Result()
	if err != nil {
		t.Error(err)
	}
	for i, v := range values {
		if v != nil {
			t.Errorf("%s is taken %s", keys[i], when)
		}
	}
}

// Stands for: an acquire that is cancelled or runs into a time-out was carried out all
// the same, and its key is blocked until it expires.
func TestCancelledAcquiresBlockNobody(t *testing.T) {
	// Not parallel: it keeps the machine busy.
	s := healthyServer(t)
	slow := s.Proxy(t)
	slow.Delay(time.Millisecond, time.Millisecond)
	for name, addr := range map[string]string{"direct": s.Addr(), "delayed": slow.Addr()} {
		t.Run(name, func(t *testing.T) { cancelMany(t, locksAt(t, addr), dial(t, s.Addr())) })
	}
}

// cancelMany makes 5,000 calls, each for a key of its own.
func cancelMany(t *testing.T, locks *distlock.Client, rdb *goredis.Client) {
	const calls, workers = 5_000, 25
	r := &residue{rdb: rdb, keys: make(chan string, calls), machine: watchMachine(t)}
	var checker, working sync.WaitGroup
	checker.Go(func() { r.check(t) })
	var next, granted atomic.Int64
	for range workers {
		working.Go(func() {
			for n := next.Add(1); n <= calls; n = next.Add(1) {
				key := fmt.Sprintf("%s-%d", t.Name(), n)
				if cancelOne(t, locks, key, someTime()) {
					granted.Add(1)
				}
				r.keys <- key
			}
		})
	}
	working.Wait()
	close(r.keys)
	checker.Wait()
	t.Logf("%d granted, %d cancelled", granted.Load(), calls-granted.Load())
	if got := granted.Load(); got < calls/20 || got > calls-calls/20 {
		t.Errorf("%d of %d were granted: the cancellations did not come at random points", got, calls)
	}
}

// someTime returns from 0.1 to 100 ms, and as often a time from 0.1 to 1 as from 10 to
// 100, so that it is at random points of a call however long that takes.
func someTime() time.Duration {
	return time.Duration(math.Pow(1000, rand.Float64()) * float64(100*time.Microsecond))
}

// cancelOne cancels a call after d and reports whether it was granted in time. The
// lease is then given back.
func cancelOne(t *testing.T, locks *distlock.Client, key string, d time.Duration) bool {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer time.AfterFunc(d, cancel).Stop()
	call := locks.Acquire
	if d%2 == 0 {
		call = locks.TryAcquire
	}
	l, err := call(ctx, key)
	switch {
	case err == nil:
		release(t, l)
	case ctx.Err() == nil:
		t.Errorf("%s: got %v before the cancellation", key, err)
	case l != nil:
		t.Errorf("%s: got a lease and %v", key, err)
	}
	return err == nil
}
