package distlock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

func TestCloseGivesUpEverything(t *testing.T) {
	for name, b := range map[string]distlock.Backend{"grants": memory.New(), "session": newVault()} {
		bubbleIn(t, name, func(t *testing.T) {
			c, other := newClient(t, b), newClient(t, b)
			held := acquire(t, other, "other's")
			var leases []*distlock.Lease
			for i := range 200 {
				leases = append(leases, acquire(t, c, fmt.Sprint(i)))
			}
			ctx := leases[0].Context(t.Context())
			waits := make(chan error, 2)
			for _, key := range []string{"0", "other's"} {
				go func() { _, err := c.Acquire(t.Context(), key); waits <- err }()
			}
			time.Sleep(time.Second)
			start := time.Now()
			is(t, "Close", c.Close(t.Context()), nil)
			if d := time.Since(start); d != 0 {
				t.Errorf("took %v", d)
			}
			for range 2 {
				err := <-waits
				is(t, "waiter", err, distlock.ErrClosed)
				isNot(t, "waiter", err, distlock.ErrHeld)
			}
			is(t, "cause", context.Cause(ctx), distlock.ErrReleased)
			for _, l := range leases {
				is(t, "Err", l.Err(), distlock.ErrReleased)
				is(t, "Release", l.Release(t.Context()), distlock.ErrReleased)
				acquire(t, other, l.Key())
			}
			_, err := c.Acquire(t.Context(), "k")
			is(t, "Acquire", err, distlock.ErrClosed)
			_, err = c.TryAcquire(t.Context(), "k")
			is(t, "TryAcquire", err, distlock.ErrClosed)
			is(t, "Ping", c.Ping(t.Context()), distlock.ErrClosed)
			is(t, "second Close", c.Close(t.Context()), nil)
			is(t, "Err of the other client's", held.Err(), nil)
			if !c.Idle() {
				t.Error("the closed client looks after something")
			}
		})
	}
}

// Close is bounded whatever hangs; the bubble shows that nothing stays.
func TestCloseWithAHungService(t *testing.T) {
	type hung struct{ open, try, keep, release, close bool }
	for _, h := range []hung{
		{open: true},
		{try: true},
		{keep: true},
		{release: true},
		{close: true},
		{open: true, try: true, keep: true, release: true, close: true},
	} {
		for _, kind := range []string{"grants", "session", "queue"} {
			bubbleIn(t, fmt.Sprintf("%s/%+v", kind, h), func(t *testing.T) {
				var down atomic.Bool
				hangIf := func(is bool) func(context.Context) error {
					return func(ctx context.Context) error {
						if is && down.Load() {
							return hang(ctx)
						}
						return ctx.Err()
					}
				}
				b, v := memory.New(), newVault()
				v.fair = kind == "queue"
				v.onOpen, v.onTry, v.onKeepAlive = hangIf(h.open), hangIf(h.try), hangIf(h.keep)
				v.onRelease, v.onClose = hangIf(h.release), hangIf(h.close)
				is := map[memory.Op]bool{
					memory.Open: h.open, memory.Acquire: h.try, memory.Renew: h.keep,
					memory.Release: h.release, memory.Close: h.close,
				}
				b.SetHooks(memory.Hooks{Before: func(ctx context.Context, op memory.Op, _ string) error {
					return hangIf(is[op])(ctx)
				}})
				backend := distlock.Backend(b)
				if kind != "grants" {
					backend = v
				}
				c, err := distlock.New(backend, distlock.WithTTL(time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				if !h.open {
					for i := range 200 {
						acquire(t, c, fmt.Sprint(i))
					}
				}
				down.Store(true)
				for i := range 50 {
					go c.TryAcquire(t.Context(), fmt.Sprint("try", i))
					go c.Acquire(t.Context(), fmt.Sprint(i%2))
				}
				time.Sleep(21 * time.Minute) // a renewal is under way
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				start := time.Now()
				c.Close(ctx)
				if d := time.Since(start); d > 3*time.Second {
					t.Errorf("Close took %v, ctx had 3s", d)
				}
				c.Close(t.Context())
				if d := time.Since(start); d > 3*distlock.CloseBound {
					t.Errorf("all was over after %v", d)
				}
			})
		}
	}
}

// A wait for a session to be renewed ends with Close.
func TestCloseCutsAWaitForTheSessionShort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c := newClient(t, v, distlock.WithTTL(time.Hour))
		acquire(t, c, "k")
		v.set(func() { v.onKeepAlive = netDown })
		time.Sleep(46 * time.Minute)
		got := make(chan error, 1)
		go func() { _, err := c.Acquire(t.Context(), "other"); got <- err }()
		time.Sleep(time.Second)
		start := time.Now()
		is(t, "Close", c.Close(t.Context()), nil)
		if d := time.Since(start); d != 0 {
			t.Errorf("took %v", d)
		}
		is(t, "Acquire", <-got, distlock.ErrClosed)
	})
}

// A grant that arrives after Close began is given back.
func TestGrantThatArrivesAfterCloseBegan(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		b.SetHooks(memory.Hooks{After: on(memory.Acquire, func(context.Context) error {
			time.Sleep(2 * time.Second) // deaf to ctx
			return nil
		})})
		got := make(chan error, 1)
		go func() { _, err := c.Acquire(t.Context(), "k"); got <- err }()
		time.Sleep(time.Second)
		is(t, "Close", c.Close(t.Context()), nil)
		is(t, "Acquire", <-got, distlock.ErrClosed)
		if b.Len() != 0 {
			t.Error("still held after Close")
		}
	})
}

// A session is not ended under a release that is under way.
func TestCloseAwaitsAReleaseUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c := newClient(t, v)
		l := acquire(t, c, "k")
		var closed atomic.Bool
		v.set(func() {
			v.onClose = func(context.Context) error { closed.Store(true); return nil }
			v.onRelease = func(context.Context) error {
				time.Sleep(2 * time.Second)
				if closed.Load() {
					t.Error("the session was closed under a release")
				}
				return nil
			}
		})
		var wg sync.WaitGroup
		wg.Go(func() { is(t, "Release", l.Release(t.Context()), nil) })
		time.Sleep(time.Second)
		is(t, "Close", c.Close(t.Context()), nil)
		wg.Wait()
	})
}

func TestConcurrentCloses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		acquire(t, c, "k")
		b.SetHooks(memory.Hooks{Before: on(memory.Release, func(context.Context) error { time.Sleep(time.Second); return nil })})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				is(t, "Close", c.Close(t.Context()), nil)
				if b.Len() != 0 {
					t.Error("Close returned before all was released")
				}
			})
		}
		wg.Wait()
	})
}

// What is left of a lost lease stays for its lock-delay, also beyond Close.
func TestCloseLeavesTheLockDelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b, distlock.WithLockDelay(time.Minute)), newClient(t, b)
		l := acquire(t, c, "k", distlock.WithoutRenewal())
		<-l.Done()
		lost := time.Now()
		is(t, "Close", c.Close(t.Context()), nil)
		acquire(t, other, "k")
		if d := time.Since(lost); d < time.Minute {
			t.Errorf("taken over %v after the loss, lock-delay is 1m", d)
		}
	})
}

// A leftover that only waits for a renewal under way has no lock-delay to leave to the
// server.
func TestCloseAwaitsALeftoverBehindARenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b, distlock.WithTTL(30*time.Second))
		l := acquire(t, c, "k")
		b.SetHooks(memory.Hooks{Before: on(memory.Renew, func(context.Context) error {
			time.Sleep(7 * time.Second) // more than a release waits, and Close begins in time to see its end
			return errNet
		})})
		time.Sleep(10 * time.Second)
		synctest.Wait() // the renewal is under way
		if err := l.Release(t.Context()); err == nil {
			t.Fatal("a release beside a renewal that hangs: got nil")
		}
		time.Sleep(50 * time.Millisecond) // now it is put off
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if b.Len() != 0 {
			t.Error("the key is held behind Close")
		}
	})
}

// A leftover whose request was under way when Close began is looked at once more, at
// once and not when its turn would have come.
func TestCloseWaitsForNoPause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		ctx, cancel := context.WithCancel(t.Context())
		looks, fourth := 0, make(chan struct{})
		b.SetHooks(memory.Hooks{Before: func(ctx context.Context, op memory.Op, _ string) error {
			switch op {
			case memory.Acquire:
				cancel()
				return hang(ctx)
			case memory.Release:
				if looks++; looks == 4 {
					close(fourth)
					time.Sleep(100 * time.Millisecond)
				}
			}
			return nil
		}})
		if _, err := c.Acquire(ctx, "k"); err == nil {
			t.Fatal("got a lease of a cancelled call")
		}
		<-fourth
		start := time.Now()
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}
