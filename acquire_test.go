package distlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

func TestAcquireWithAnEndedContextSendsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		calls := count(b, memory.Hooks{})
		c := newClient(t, b)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("shutting down")
		cancel(why)
		for name, f := range map[string]func(context.Context, string, ...distlock.Option) (*distlock.Lease, error){
			"Acquire": c.Acquire, "TryAcquire": c.TryAcquire,
		} {
			l, err := f(ctx, "k")
			is(t, name, err, context.Canceled, why)
			isNot(t, name, err, distlock.ErrHeld)
			if l != nil {
				t.Errorf("%s: got a lease", name)
			}
		}
		if n := calls.of(memory.Acquire) + calls.of(memory.Open); n != 0 {
			t.Errorf("%d calls to the service, want 0", n)
		}
	})
}

func TestWaitEndsByContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b), newClient(t, b)
		acquire(t, other, "k")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		_, err := c.Acquire(ctx, "k")
		is(t, "Acquire", err, distlock.ErrHeld, context.DeadlineExceeded)
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("took %v, want 5s", d)
		}
		var e *distlock.Error
		if !errors.As(err, &e) || e.Op != "acquire" || e.Key != "k" || e.Backend != "memory" {
			t.Errorf("got %#v, want an *Error of acquire", err)
		}
		want := `distlock: acquire "k" (memory): held by another owner: context deadline exceeded`
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	})
}

// A refusal that arrives with the end of ctx is a wait that ends by ctx.
func TestRefusalTogetherWithTheEndOfContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b), newClient(t, b)
		acquire(t, other, "k")
		ctx, cancel := context.WithCancel(t.Context())
		b.SetHooks(memory.Hooks{After: on(memory.Acquire, func(context.Context) error { cancel(); return nil })})
		_, err := c.Acquire(ctx, "k")
		is(t, "Acquire", err, distlock.ErrHeld, context.Canceled)
	})
}

// A wake-up that arrives with the end of ctx makes no request.
func TestWakeUpTogetherWithTheEndOfContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		for range 50 {
			l := acquire(t, c, "k")
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { _, err := c.Acquire(ctx, "k"); ended <- err }()
			time.Sleep(10 * time.Millisecond)
			calls := count(b, memory.Hooks{Before: on(memory.Release, func(context.Context) error { cancel(); return nil })})
			is(t, "Release", l.Release(t.Context()), nil)
			is(t, "Acquire", <-ended, distlock.ErrHeld, context.Canceled)
			if n := calls.of(memory.Acquire); n != 0 {
				t.Fatalf("%d attempts after ctx ended, want 0", n)
			}
			b.SetHooks(memory.Hooks{})
		}
	})
}

func TestFirstFailureIsReturnedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		for _, op := range []memory.Op{memory.Open, memory.Acquire} {
			b.SetHooks(memory.Hooks{Before: on(op, netDown)})
			start := time.Now()
			_, err := c.Acquire(t.Context(), "k")
			is(t, string(op), err, errNet)
			isNot(t, string(op), err, distlock.ErrHeld)
			if d := time.Since(start); d != 0 {
				t.Errorf("%s: took %v, want no time", op, d)
			}
			b.SetHooks(memory.Hooks{})
			is(t, "Release", acquire(t, c, "k").Release(t.Context()), nil)
		}
	})
}

func TestFailuresDuringTheWaitAreSatOutForOneTTL(t *testing.T) {
	const ttl = 20 * time.Second
	for _, test := range []struct {
		name   string
		outage time.Duration
		fails  bool
	}{{"short", ttl - 2*time.Second, false}, {"long", 3 * ttl, true}} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := memory.New()
				c, other := newClient(t, b, distlock.WithTTL(ttl)), newClient(t, b, distlock.WithTTL(time.Hour))
				held := acquire(t, other, "k")
				var got *distlock.Lease
				var err error
				start, done := time.Now(), make(chan struct{})
				go func() { got, err = c.Acquire(t.Context(), "k"); close(done) }()
				time.Sleep(time.Minute)
				b.SetHooks(memory.Hooks{Before: on(memory.Acquire, netDown)})
				time.AfterFunc(test.outage, func() { b.SetHooks(memory.Hooks{}); held.Release(context.Background()) })
				<-done
				waited := time.Since(start) - time.Minute
				if !test.fails {
					is(t, "Acquire", err, nil)
					if err == nil {
						is(t, "Release", got.Release(t.Context()), nil)
					}
					return
				}
				is(t, "Acquire", err, errNet)
				if waited < ttl || waited > ttl+2*time.Second {
					t.Errorf("failed after %v of outage, want about %v", waited, ttl)
				}
				time.Sleep(2 * ttl) // what was left is cleaned up
			})
		})
	}
}

func TestOurOwnTimeoutIsNotTheCallersDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		for name, hook := range map[string]func(context.Context) error{
			"of the core":    hang,
			"of the backend": func(context.Context) error { return context.DeadlineExceeded },
		} {
			b.SetHooks(memory.Hooks{Before: func(ctx context.Context, _ memory.Op, _ string) error { return hook(ctx) }})
			_, err := c.TryAcquire(t.Context(), "k")
			isNot(t, "opening, time-out "+name, err, nil, context.DeadlineExceeded, context.Canceled)
			b.SetHooks(memory.Hooks{Before: on(memory.Acquire, hook)})
			start := time.Now()
			_, err = c.TryAcquire(t.Context(), "k")
			isNot(t, "time-out "+name, err, nil, context.DeadlineExceeded, context.Canceled)
			if d := time.Since(start); name == "of the core" && (d != 10*time.Second || !strings.Contains(err.Error(), "no answer within 10s")) {
				t.Errorf("after %v: %v; want it to name the bound of 10s", d, err)
			}
		}
		b.SetHooks(memory.Hooks{Before: on(memory.Ping, func(context.Context) error { return context.DeadlineExceeded })})
		isNot(t, "Ping", c.Ping(t.Context()), nil, context.DeadlineExceeded)
		b.SetHooks(memory.Hooks{})
		time.Sleep(time.Minute)
	})
}

func TestGrantThatComesTooLateIsGivenBack(t *testing.T) {
	const ttl = 8 * time.Second
	for _, test := range []struct {
		took time.Duration
		late bool
	}{{ttl / 2, false}, {ttl - ttl/4 - time.Second/2, false}, {ttl - ttl/4, true}, {ttl + time.Second, true}} {
		t.Run(test.took.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := memory.New()
				c := newClient(t, b, distlock.WithTTL(ttl))
				b.SetHooks(memory.Hooks{After: on(memory.Acquire, func(context.Context) error {
					time.Sleep(test.took)
					return nil
				})})
				sent := time.Now()
				l, err := c.TryAcquire(t.Context(), "k")
				if test.late != (err != nil) {
					t.Fatalf("answered after %v of a TTL of %v: got %v", test.took, ttl, err)
				}
				if err == nil {
					if end := sent.Add(ttl); !l.Deadline().Before(end) {
						t.Errorf("Deadline is %v, want before %v", l.Deadline(), end)
					}
					is(t, "Release", l.Release(t.Context()), nil)
				}
				time.Sleep(time.Second)
				if b.Len() != 0 {
					t.Error("the grant was not given back within a second")
				}
			})
		})
	}
}

func TestTokenThatBreaksThePromiseIsNoGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, token := range []distlock.Token{0, 1 << 63} {
			b := tweak{memory.New(), func(s memorySession) distlock.Session { return tokenSession{s, token} }}
			c := newClient(t, b)
			l, err := c.TryAcquire(t.Context(), "k")
			if err == nil || l != nil {
				t.Errorf("token %v: granted", token)
			}
			time.Sleep(time.Second)
			if b.Len() != 0 {
				t.Errorf("token %v: the grant was not given back", token)
			}
		}
	})
}

type tokenSession struct {
	memorySession
	token distlock.Token
}

func (s tokenSession) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	h, err := s.memorySession.TryAcquire(ctx, r)
	h.Token = s.token
	return h, err
}
