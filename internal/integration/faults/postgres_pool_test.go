package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
)

// Stands for: each lock and each waiter holds a connection of the pool, and all of them
// wait for one more to do the work with.
func TestLocksAndWaitersLeaveThePoolAlone(t *testing.T) {
	t.Parallel()
	s := healthyDatabase(t)
	for _, size := range []int32{1, 4} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			pool := pgPool(t, s.Addr(), size)
			locks := pgLocksOn(t, pool)
			ctx := within(t, bound)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for i := range 20 { // of three keys, so that they hold and wait at a time
						err := distlock.Do(ctx, locks, fmt.Sprintf("%s-%d", t.Name(), i%3),
							func(ctx context.Context, _ *distlock.Lease) error {
								var one int
								return pool.QueryRow(ctx, "SELECT 1 FROM pg_sleep(0.001)").Scan(&one)
							})
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			if n := pool.Stat().TotalConns(); n > size {
				t.Errorf("the pool has %d connections, at most %d are allowed", n, size)
			}
		})
	}
}

// Stands for: CREATE INDEX CONCURRENTLY waits for ever for the snapshot of a session
// that waits for a lock.
func TestWaitersHoldNoSnapshot(t *testing.T) {
	t.Parallel()
	s := healthyDatabase(t)
	pool := pgPool(t, s.Addr(), 1)
	l := acquire(t, pgLocks(t, s.Addr()), t.Name())
	var waiters sync.WaitGroup
	for range 20 { // each a process of its own
		locks := pgWaits(t, s.Addr())
		waiters.Go(func() {
			l, err := locks.Acquire(within(t, 2*bound), t.Name())
			if err != nil {
				t.Error(err)
				return
			}
			release(t, l)
		})
		locks.await(t)
	}
	for _, sql := range []string{
		"CREATE TABLE indexed AS SELECT generate_series(1, 1000) AS n",
		"CREATE INDEX CONCURRENTLY ON indexed (n)",
	} {
		if _, err := pool.Exec(within(t, bound), sql); err != nil {
			t.Fatalf("%s beside 20 waiters: %v", sql, err)
		}
	}
	release(t, l)
	waiters.Wait()
}

// Stands for: a time-out or a cancellation struck at the moment of the hand-over, the call
// failed, and the connection had the lock for good.
func TestCancellationsAtTheHandOverLeaveNothing(t *testing.T) {
	// Not parallel: it keeps the machine busy.
	s := healthyDatabase(t)
	admin := pgPool(t, s.Addr(), 1)
	slow := s.Proxy(t)
	slow.Delay(500*time.Microsecond, 500*time.Microsecond)
	for name, addr := range map[string]string{"direct": s.Addr(), "delayed": slow.Addr()} {
		t.Run(name, func(t *testing.T) { cancelHandOvers(t, pgLocks(t, s.Addr()), pgLocks(t, addr)) })
	}
	var left int
	eventually(t, bound, "pg_locks has nothing left", func() bool {
		left = pgScan[int](t, admin, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
		return left == 0
	})
}

// cancelHandOvers waits for keys until 5,000 of the waits were cancelled, each at about
// the moment of the hand-over.
func cancelHandOvers(t *testing.T, holder, waiter *distlock.Client) {
	const cancellations, workers = 5_000, 10
	var wg sync.WaitGroup
	var granted, cancelled atomic.Int64
	for w := range workers {
		wg.Go(func() {
			key := fmt.Sprintf("%s-%d", t.Name(), w)
			for cancelled.Load() < cancellations && !t.Failed() {
				if cancelHandOver(t, holder, waiter, key) {
					granted.Add(1)
				} else {
					cancelled.Add(1)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d granted, %d cancelled", granted.Load(), cancelled.Load())
	if granted.Load() < cancellations/20 {
		t.Errorf("%d were granted: the cancellations did not come at the hand-over", granted.Load())
	}
}

// cancelHandOver releases a key and cancels the wait for it a moment later.
func cancelHandOver(t *testing.T, holder, waiter *distlock.Client, key string) (granted bool) {
	l, err := holder.Acquire(within(t, 4*bound), key)
	if err != nil {
		t.Error(err)
		return false
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		got, err := waiter.Acquire(ctx, key)
		switch {
		case err == nil:
			granted = true
			release(t, got)
		case !errors.Is(err, context.Canceled):
			t.Errorf("got %v, want the end of its ctx", err)
		}
	}()
	pause(rand.N(2 * time.Millisecond))
	release(t, l)
	pause(someTime()) // up to 100 ms, as the machine may be slow
	cancel()
	<-done
	return granted
}

// Stands for: behind a dead network a client opens connection after connection, and all of
// them are there when it comes back.
func TestOutageLeavesNoConnections(t *testing.T) {
	t.Parallel()
	s := healthyDatabase(t)
	link := s.Proxy(t)
	locks := pgLocks(t, link.Addr(), distlock.WithTTL(time.Second))
	release(t, acquire(t, locks, t.Name()))
	link.Set(proxy.Swallow, proxy.Swallow)
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := locks.Acquire(ctx, t.Name())
		cancel()
		if err == nil {
			t.Fatal("granted over a dead network")
		}
	}
	link.Set(proxy.Pass, proxy.Pass)
	eventually(t, bound, "it is of use again", func() bool {
		l, err := locks.TryAcquire(within(t, time.Second), t.Name())
		return err == nil && l.Release(t.Context()) == nil
	})
	admin := pgPool(t, s.Addr(), 1)
	eventually(t, bound, "nothing of the outage is left", func() bool {
		return pgHolders(t, admin, t.Name()) == 0
	})
}
