package distlock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

func TestWaitersOfOneClientAreServedInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const waiters = 1000
		b := memory.New()
		c := newClient(t, b)
		first := acquire(t, c, "k")
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		gaveUp := 0
		for i := range waiters {
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() {
				defer cancel()
				l, err := c.Acquire(ctx, "k")
				if err != nil {
					is(t, "Acquire", err, distlock.ErrHeld, context.Canceled)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				is(t, "Release", l.Release(ctx), nil)
			})
			synctest.Wait() // it stands in line now
			if i%3 == 1 {
				gaveUp++
				time.AfterFunc(rand.N(time.Second/2), cancel)
			}
		}
		calls := count(b, memory.Hooks{})
		time.Sleep(time.Second / 2)
		first.Release(t.Context())
		wg.Wait()
		if len(order) != waiters-gaveUp {
			t.Fatalf("%d were served, want %d", len(order), waiters-gaveUp)
		}
		for i := 1; i < len(order); i++ {
			if order[i] < order[i-1] {
				t.Fatalf("%d was served after %d", order[i], order[i-1])
			}
		}
		if n := calls.of(memory.Acquire); n > len(order) {
			t.Errorf("%d requests for %d hand-overs, want one each", n, len(order))
		}
	})
}

func TestHandOverTakesNoTimeAndOneRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		for _, waiters := range []int{1, 10, 100} {
			l := acquire(t, c, "k")
			calls := count(b, memory.Hooks{})
			var wg sync.WaitGroup
			for range waiters {
				wg.Go(func() { acquire(t, c, "k").Release(t.Context()) })
			}
			time.Sleep(9 * time.Second) // before the first renewal
			if n := calls.of(memory.Acquire); n != 0 {
				t.Errorf("%d requests while this client holds the key, want 0", n)
			}
			start := time.Now()
			l.Release(t.Context())
			wg.Wait()
			if d := time.Since(start); d != 0 {
				t.Errorf("%d hand-overs took %v, want none", waiters, d)
			}
			if n, want := calls.of(memory.Acquire), waiters; n != want {
				t.Errorf("%d requests for %d hand-overs", n, want)
			}
			b.SetHooks(memory.Hooks{})
		}
	})
}

// Behind another client's holder, only the head of each line polls.
func TestPollingDoesNotGrowWithTheWaiters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b), newClient(t, b)
		l := acquire(t, other, "k")
		calls := count(b, memory.Hooks{})
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() { acquire(t, c, "k").Release(t.Context()) })
		}
		time.Sleep(5 * time.Second)
		if n := calls.of(memory.Acquire); n > 9 {
			t.Errorf("%d requests in 5s, want at most 9", n)
		}
		l.Release(t.Context())
		wg.Wait()
		if n := calls.of(memory.Acquire); n > 1002 {
			t.Errorf("%d requests for 1000 hand-overs", n)
		}
	})
}

// silent takes away the wake-ups.
type silent struct{ memorySession }

func (silent) Watch(string, func()) func() { return func() {} }

func TestLostWakeUpsCostOnePollInterval(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := tweak{memory.New(), func(s memorySession) distlock.Session { return silent{s} }}
		c, other := newClient(t, b), newClient(t, b)
		for range 20 {
			l := acquire(t, other, "k")
			var freed time.Time
			time.AfterFunc(rand.N(3*time.Second), func() { freed = time.Now(); l.Release(t.Context()) })
			got := acquire(t, c, "k")
			if d := time.Since(freed); d > time.Second {
				t.Errorf("taken over %v after the release, want at most 1s", d)
			}
			got.Release(t.Context())
		}
	})
}

// A holder without renewal is taken over when its lifetime ends, to the
// millisecond and not to the poll interval.
func TestWaiterPollsWhenTheHoldersLifetimeEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b), newClient(t, b, distlock.WithTTL(1500*time.Millisecond), distlock.WithoutRenewal())
		start := time.Now()
		acquire(t, other, "k")
		acquire(t, c, "k")
		if d := time.Since(start); d > 1600*time.Millisecond {
			t.Errorf("taken over after %v of a lifetime of 1.5s", d)
		}
	})
}

func TestTryAcquireWithWaitersQueuedMakesNoRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b), newClient(t, b)
		l := acquire(t, other, "k")
		done := make(chan struct{})
		go func() { acquire(t, c, "k").Release(t.Context()); close(done) }()
		time.Sleep(100 * time.Millisecond)
		calls := count(b, memory.Hooks{})
		_, err := c.TryAcquire(t.Context(), "k")
		is(t, "TryAcquire", err, distlock.ErrHeld)
		if n := calls.of(memory.Acquire); n != 0 {
			t.Errorf("%d requests, want 0", n)
		}
		l.Release(t.Context())
		<-done
	})
}

func TestNothingOfALineRemains(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b), newClient(t, b)
		l := acquire(t, other, "k")
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err := c.Acquire(ctx, "k")
			is(t, "Acquire", err, distlock.ErrHeld, context.DeadlineExceeded)
			cancel()
		}
		l.Release(t.Context())
		time.Sleep(3 * time.Second)
		if !c.Idle() || !other.Idle() {
			t.Error("a client looks after something though nobody wants anything")
		}
	})
}
