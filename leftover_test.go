package distlock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// unknown are the ways in which an attempt can end without an answer.
var unknown = map[string]func(cancel func()) (before, after func(context.Context) error){
	"lost request": func(func()) (_, _ func(context.Context) error) { return netDown, nil },
	"lost reply":   func(func()) (_, _ func(context.Context) error) { return nil, netDown },
	"request cut short": func(cancel func()) (_, _ func(context.Context) error) {
		return func(ctx context.Context) error { cancel(); return hang(ctx) }, nil
	},
	"reply cut short": func(cancel func()) (_, _ func(context.Context) error) {
		return nil, func(ctx context.Context) error { cancel(); return hang(ctx) }
	},
	"grant as ctx ended": func(cancel func()) (_, _ func(context.Context) error) {
		return nil, func(context.Context) error { cancel(); return nil }
	},
	"request unanswered": func(func()) (_, _ func(context.Context) error) { return hang, nil },
	"reply unanswered":   func(func()) (_, _ func(context.Context) error) { return nil, hang },
}

func never(context.Context) error { return nil }

func TestUnknownOutcomeBlocksNobodyForASecond(t *testing.T) {
	for name, fault := range unknown {
		for _, wait := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/wait=%v", name, wait), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b := memory.New()
					c := newClient(t, b)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					before, after := fault(cancel)
					if before == nil {
						before = never
					}
					if after == nil {
						after = never
					}
					b.SetHooks(memory.Hooks{Before: on(memory.Acquire, before), After: on(memory.Acquire, after)})
					do := c.TryAcquire
					if wait {
						do = c.Acquire
					}
					l, err := do(ctx, "k")
					if err == nil || l != nil {
						t.Fatalf("got %v, %v; want an error", l, err)
					}
					if ctx.Err() != nil {
						is(t, "Acquire", err, context.Canceled)
					}
					b.SetHooks(memory.Hooks{})
					time.Sleep(time.Second)
					if b.Len() != 0 {
						t.Error("the key is still held after a second")
					}
					time.Sleep(20 * time.Second)
					if !c.Idle() {
						t.Error("the client still looks after something")
					}
				})
			})
		}
	}
}

func TestUnknownOutcomeOnASession(t *testing.T) {
	for name, fault := range unknown {
		for _, fair := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/fair=%v", name, fair), func(t *testing.T) {
				if fair && (name == "request unanswered" || name == "reply unanswered") {
					t.Skip("a stay in the service's queue has no bound of its own")
				}
				bubble(t, func(t *testing.T) {
					v := newVault()
					v.fair = fair
					c := newClient(t, v)
					is(t, "Release", acquire(t, c, "other").Release(t.Context()), nil)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					before, after := fault(cancel)
					v.set(func() { v.onTry, v.onAnswer = before, after })
					if l, err := c.Acquire(ctx, "k"); err == nil || l != nil {
						t.Fatalf("got %v, %v; want an error", l, err)
					}
					v.set(func() { v.onTry, v.onAnswer = nil, nil })
					time.Sleep(time.Second)
					if held := v.held(); len(held) != 0 {
						t.Errorf("still held after a second: %v", held)
					}
					if len(v.open()) != 1 {
						t.Error("the session did not survive")
					}
				})
			})
		}
	}
}

// A request that was swallowed may reach the server after the call returned.
func TestRequestThatArrivesLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		b2 := tweak{b, func(s memorySession) distlock.Session { return lateSession{s} }}
		c := newClient(t, b2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.TryAcquire(ctx, "k")
		is(t, "TryAcquire", err, context.DeadlineExceeded)
		time.Sleep(150 * time.Millisecond)
		if b.Len() != 1 {
			t.Fatal("the late request was not granted: the test shows nothing")
		}
		time.Sleep(850 * time.Millisecond)
		if b.Len() != 0 {
			t.Error("what a late request left is still there after a second")
		}
	})
}

// lateSession carries its requests out 100 ms after they were cut short.
type lateSession struct{ memorySession }

func (s lateSession) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	<-ctx.Done()
	time.AfterFunc(100*time.Millisecond, func() { s.memorySession.TryAcquire(context.Background(), r) })
	return distlock.Hold{}, ctx.Err()
}

// While the server cannot be asked, cleaning up goes on for one lifetime there
// and then stops.
func TestCleaningUpEndsWithTheLifetime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b, distlock.WithTTL(10*time.Second))
		b.SetHooks(memory.Hooks{Before: on(memory.Release, netDown), After: on(memory.Acquire, netDown)})
		_, err := c.TryAcquire(t.Context(), "k")
		is(t, "TryAcquire", err, errNet)
		time.Sleep(9 * time.Second)
		if c.Idle() {
			t.Error("gave up before the lifetime was over")
		}
		time.Sleep(5 * time.Second)
		if !c.Idle() {
			t.Error("still cleaning up after the lifetime was over")
		}
		b.SetHooks(memory.Hooks{})
	})
}

// On a session the lifetime does not end by itself: an owner that cannot be
// deleted costs the session its future, not the leases it has.
func TestSessionWithALeftoverIsRetired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c := newClient(t, v, distlock.WithTTL(10*time.Second))
		l := acquire(t, c, "k")
		v.set(func() { v.onAnswer, v.onRelease = netDown, netDown })
		_, err := c.TryAcquire(t.Context(), "doubtful")
		is(t, "TryAcquire", err, errNet)
		v.set(func() { v.onAnswer = nil })
		time.Sleep(15 * time.Second)
		is(t, "Err", l.Err(), nil)
		other := acquire(t, c, "other")
		if n := len(v.open()); n != 2 {
			t.Errorf("%d sessions, want the retired one and its successor", n)
		}
		v.set(func() { v.onRelease = nil })
		is(t, "Release", l.Release(t.Context()), nil)
		time.Sleep(time.Second)
		if held := v.held(); len(held) != 1 || held[0] != "other" {
			t.Errorf("held: %v, want other alone", held)
		}
		is(t, "Release", other.Release(t.Context()), nil)
	})
}

// What a clean-up frees wakes the next waiter of this client at once.
func TestCleaningUpWakesTheNextWaiter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := tweak{memory.New(), func(s memorySession) distlock.Session { return silent{s} }}
		c := newClient(t, b)
		l := acquire(t, c, "k")
		b.SetHooks(memory.Hooks{Before: on(memory.Release, netDown)})
		done := make(chan struct{})
		go func() { acquire(t, c, "k").Release(t.Context()); close(done) }()
		time.Sleep(5 * time.Second)
		is(t, "Release", l.Release(t.Context()), errNet)
		b.SetHooks(memory.Hooks{})
		start := time.Now()
		<-done
		if d := time.Since(start); d > 250*time.Millisecond {
			t.Errorf("handed over after %v", d)
		}
	})
}

// A leftover that had to wait for a renewal under way has not been tried yet: its first
// request is as short as any first one, so that it holds up no others.
func TestWaitingForARenewalIsNoFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b, distlock.WithTTL(30*time.Second))
		l := acquire(t, c, "k")
		var bounds []time.Duration
		b.SetHooks(memory.Hooks{Before: func(ctx context.Context, op memory.Op, _ string) error {
			switch end, _ := ctx.Deadline(); op {
			case memory.Renew:
				return hang(ctx)
			case memory.Release:
				bounds = append(bounds, time.Until(end))
				return hang(ctx)
			}
			return nil
		}})
		<-l.Done() // with a renewal under way, since each hangs for ten seconds
		time.Sleep(10 * time.Second)
		synctest.Wait()
		b.SetHooks(memory.Hooks{})
		if len(bounds) == 0 || bounds[0] > time.Second/2 {
			t.Errorf("got requests bounded by %v, want the first to be short", bounds)
		}
	})
}
