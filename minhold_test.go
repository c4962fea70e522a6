package distlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// freeAfter waits until key can be had and returns how long that took since
// start, to 20 ms.
func freeAfter(t *testing.T, c *distlock.Client, key string, start time.Time) time.Duration {
	t.Helper()
	for {
		l, err := c.TryAcquire(t.Context(), key)
		if err == nil {
			is(t, "Release", l.Release(t.Context()), nil)
			return time.Since(start).Truncate(20 * time.Millisecond)
		}
		is(t, "TryAcquire", err, distlock.ErrHeld)
		time.Sleep(20 * time.Millisecond)
	}
}

// The window is longer and shorter than the TTL, and the process ends in it.
func TestMinHoldOutlivesItsClient(t *testing.T) {
	for name, window := range map[string]time.Duration{"long": time.Hour, "short": 4 * time.Second} {
		bubbleIn(t, name, func(t *testing.T) {
			b := memory.New()
			c, other := newClient(t, b, distlock.WithMinHold(window)), newClient(t, b)
			start := time.Now()
			l := acquire(t, c, "k")
			time.Sleep(time.Second)
			is(t, "Release", l.Release(t.Context()), nil)
			if l.Valid() || !errors.Is(l.Err(), distlock.ErrReleased) {
				t.Errorf("after Release: Valid %v, Err %v", l.Valid(), l.Err())
			}
			is(t, "Release again", l.Release(t.Context()), distlock.ErrReleased)
			is(t, "Close", c.Close(t.Context()), nil)
			if got := freeAfter(t, other, "k", start); got != window {
				t.Errorf("free after %v, want %v", got, window)
			}
		})
	}
}

func TestMinHoldThatIsOverCostsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		l := acquire(t, c, "k", distlock.WithMinHold(time.Minute))
		time.Sleep(time.Minute)
		is(t, "Release", l.Release(t.Context()), nil)
		if b.Len() != 0 {
			t.Error("still held")
		}
	})
}

// A waiter of the same client, which a release wakes, gets the key no sooner.
func TestMinHoldAndOwnWaiters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		start := time.Now()
		l := acquire(t, c, "k", distlock.WithMinHold(10*time.Minute))
		time.AfterFunc(time.Second, func() { l.Release(context.Background()) })
		acquire(t, c, "k")
		if took := time.Since(start); took < 10*time.Minute || took > 10*time.Minute+time.Second {
			t.Errorf("the waiter got the key after %v, want 10m", took)
		}
	})
}

// Neither an unanswered release nor a loss frees the key before its time, and
// the client cleans up no grant that it never handed over by keeping it.
func TestMinHoldBehindFailures(t *testing.T) {
	const window = 10 * time.Minute
	for name, test := range map[string]struct {
		fail func(t *testing.T, b *memory.Backend, l *distlock.Lease)
		want time.Duration
		opts []distlock.Option
	}{
		"release without an answer": {want: window, fail: func(t *testing.T, b *memory.Backend, l *distlock.Lease) {
			b.SetHooks(memory.Hooks{Before: on(memory.Renew, netDown)})
			is(t, "Release", l.Release(t.Context()), errNet)
			time.Sleep(5 * time.Second)
			b.SetHooks(memory.Hooks{})
		}},
		"release whose answer is lost": {want: window, fail: func(t *testing.T, b *memory.Backend, l *distlock.Lease) {
			b.SetHooks(memory.Hooks{After: on(memory.Renew, netDown)})
			is(t, "Release", l.Release(t.Context()), errNet)
			b.SetHooks(memory.Hooks{})
			is(t, "Release again", l.Release(t.Context()), nil)
		}},
		"end by max-hold": {want: window, opts: []distlock.Option{distlock.WithMaxHold(time.Minute)}, fail: func(t *testing.T, _ *memory.Backend, l *distlock.Lease) {
			<-l.Done()
			is(t, "Release", l.Release(t.Context()), distlock.ErrLost)
		}},
		"crash": {want: distlock.DefaultTTL, fail: func(_ *testing.T, b *memory.Backend, _ *distlock.Lease) {
			b.SetHooks(memory.Hooks{Before: on(memory.Renew, netDown)})
		}},
	} {
		bubbleIn(t, name, func(t *testing.T) {
			b := memory.New()
			c, other := newClient(t, b), newClient(t, b)
			start := time.Now()
			l := acquire(t, c, "k", append(test.opts, distlock.WithMinHold(window))...)
			test.fail(t, b, l)
			got := freeAfter(t, other, "k", start)
			if off := got - test.want; off < 0 || off > time.Second {
				t.Errorf("free after %v, want %v", got, test.want)
			}
			b.SetHooks(memory.Hooks{})
		})
	}
}

func TestMinHoldSparesAGrantNeverHandedOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b, distlock.WithMinHold(time.Hour))
		b.SetHooks(memory.Hooks{After: on(memory.Acquire, netDown)})
		_, err := c.TryAcquire(t.Context(), "k")
		is(t, "TryAcquire", err, errNet)
		b.SetHooks(memory.Hooks{})
		time.Sleep(time.Second)
		if b.Len() != 0 {
			t.Error("a grant that nobody got keeps the key for its min-hold")
		}
	})
}

func TestMinHoldIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, err := distlock.New(newVault(), distlock.WithMinHold(time.Second))
		is(t, "New on a session service", err, distlock.ErrInvalid)
		_, err = newClient(t, newVault()).TryAcquire(t.Context(), "k", distlock.WithMinHold(time.Second))
		is(t, "TryAcquire on a session service", err, distlock.ErrInvalid)
		for _, d := range []time.Duration{-1, 0, memory.MaxTTL + 1} {
			_, err = newClient(t, memory.New()).TryAcquire(t.Context(), "k", distlock.WithMinHold(d))
			is(t, "TryAcquire with a min-hold of "+d.String(), err, distlock.ErrInvalid)
		}
		for _, d := range []time.Duration{1, memory.MaxTTL} {
			_, err = distlock.New(memory.New(), distlock.WithMinHold(d))
			is(t, "New with a min-hold of "+d.String(), err, nil)
		}
	})
}
