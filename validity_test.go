package distlock_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/memory"
)

// A sleeper is a clock that can jump while timers stand still: CLOCK_BOOTTIME
// over a suspend.
type sleeper struct {
	mono clock.Clock
	jump atomic.Int64
}

func newSleeper() *sleeper { return &sleeper{mono: clock.Monotonic()} }

func (s *sleeper) now() time.Duration { return s.mono() + time.Duration(s.jump.Load()) }

func (s *sleeper) suspend(d time.Duration) { s.jump.Add(int64(d)) }

func TestSuspendEndsTheLease(t *testing.T) {
	for name, newBackend := range map[string]func() distlock.Backend{
		"grants":  func() distlock.Backend { return memory.New() },
		"session": func() distlock.Backend { return newVault() },
	} {
		for _, look := range []string{"Valid", "Err", "Done", "Context.Err", "Context.Done", "Release", "nobody"} {
			bubbleIn(t, name+"/"+look, func(t *testing.T) {
				s := newSleeper()
				c := newClient(t, newBackend(), distlock.WithClock(s.now))
				l := acquire(t, c, "k")
				ctx := l.Context(t.Context())
				time.Sleep(time.Second)
				s.suspend(29 * time.Second)
				switch look {
				case "Valid":
					if l.Valid() {
						t.Error("valid")
					}
				case "Err":
					is(t, "Err", l.Err(), distlock.ErrLost)
				case "Done":
					if !isOver(l.Done()) {
						t.Error("not done")
					}
				case "Context.Err":
					is(t, "Err of the context", ctx.Err(), context.Canceled)
					is(t, "its cause", context.Cause(ctx), distlock.ErrLost)
				case "Context.Done":
					if !isOver(ctx.Done()) {
						t.Error("not done")
					}
				case "Release":
					is(t, "Release", l.Release(t.Context()), distlock.ErrLost)
				}
				start := time.Now()
				<-ctx.Done()
				if d := time.Since(start); d > time.Second {
					t.Errorf("noticed after %v, want at most 1s", d)
				}
				if d := l.Deadline(); !isOver(l.Done()) || d.After(time.Now()) {
					t.Errorf("done: %v, deadline in %v", isOver(l.Done()), time.Until(d))
				}
				is(t, "Err", l.Err(), distlock.ErrLost)
			})
		}
	}
}

// A renewal that was asleep with the machine revives nothing either.
func TestSuspendDuringARenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSleeper()
		b := memory.New()
		c := newClient(t, b, distlock.WithClock(s.now))
		l := acquire(t, c, "k")
		b.SetHooks(memory.Hooks{Before: on(memory.Renew, func(context.Context) error {
			s.suspend(time.Minute)
			return nil
		})})
		<-l.Done()
		is(t, "Err", l.Err(), distlock.ErrLost)
	})
}

// The context of an outer lease may run out, unnoticed, just as an inner one
// is granted.
func TestNestedAcquireWhoseOuterLeaseRanOut(t *testing.T) {
	t.Parallel()
	s := newSleeper()
	b := memory.New()
	c := newClient(t, b, distlock.WithClock(s.now))
	outer := acquire(t, c, "outer", distlock.WithTTL(5*time.Second))
	b.SetHooks(memory.Hooks{After: on(memory.Acquire, func(context.Context) error {
		s.suspend(6 * time.Second)
		return nil
	})})
	done := make(chan error, 1)
	ctx := outer.Context(t.Context())
	go func() {
		_, err := c.Acquire(ctx, "inner")
		done <- err
	}()
	select {
	case err := <-done:
		is(t, "Acquire", err, context.Canceled)
		isNot(t, "Acquire", err, distlock.ErrLost) // that is outer's
		is(t, "the cause", context.Cause(ctx), distlock.ErrLost)
	case <-time.After(10 * time.Second):
		t.Fatal("Acquire is stuck")
	}
}

func TestDeadlineIsNeverLaterThanTheTruth(t *testing.T) {
	for _, ttl := range []time.Duration{10 * time.Millisecond, time.Second, time.Hour} {
		bubbleIn(t, ttl.String(), func(t *testing.T) {
			b := memory.New()
			var granted time.Time // by the server's clock
			b.SetHooks(memory.Hooks{
				Before: on(memory.Acquire, func(context.Context) error { time.Sleep(min(ttl/10, time.Second)); return nil }),
				After: on(memory.Acquire, func(context.Context) error {
					granted = time.Now()
					time.Sleep(min(ttl/10, time.Second))
					return nil
				}),
			})
			sent := time.Now()
			c := newClient(t, b, distlock.WithTTL(ttl), distlock.WithoutRenewal())
			l := acquire(t, c, "k")
			drift := ttl/100 + 2*time.Millisecond
			if want := sent.Add(ttl - drift); !l.Deadline().Equal(want) {
				t.Errorf("deadline is %v after the request, want %v", l.Deadline().Sub(sent), want.Sub(sent))
			}
			if l.Deadline().After(granted.Add(ttl)) {
				t.Error("deadline is later than the end on the server")
			}
			<-l.Done()
			if !time.Now().Equal(l.Deadline()) {
				t.Errorf("done %v after the deadline", time.Since(l.Deadline()))
			}
			is(t, "Err", l.Err(), distlock.ErrLost)
		})
	}
}

// A grant that nobody can use any more is told with what it has outlasted.
func TestGrantThatCameTooLateSaysWhy(t *testing.T) {
	for _, test := range []struct {
		took time.Duration
		opts []distlock.Option
		want string
	}{
		{12 * time.Second, []distlock.Option{distlock.WithoutRenewal()}, "of a TTL of 12s"},
		{12 * time.Second, []distlock.Option{distlock.WithoutRenewal(), distlock.WithMaxHold(time.Hour)}, "of a TTL of 12s"},
		{5 * time.Second, []distlock.Option{distlock.WithMaxHold(5 * time.Second)}, "of a max-hold of 5s"},
	} {
		bubbleIn(t, test.want, func(t *testing.T) {
			b := memory.New()
			b.SetHooks(memory.Hooks{After: on(memory.Acquire, func(context.Context) error {
				time.Sleep(test.took)
				return nil
			})})
			c := newClient(t, b, distlock.WithTTL(12*time.Second))
			if _, err := c.TryAcquire(t.Context(), "k", test.opts...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestLeaseThatIsNotRenewedForEver(t *testing.T) {
	const ttl = 12 * time.Second
	for _, kind := range []string{"grants", "session"} {
		for _, test := range []struct {
			name string
			opt  distlock.Option
			want time.Duration // of validity
			says string
		}{
			{"WithoutRenewal", distlock.WithoutRenewal(), ttl - ttl/100 - 2*time.Millisecond, "WithoutRenewal"},
			{"WithMaxHold", distlock.WithMaxHold(time.Minute), time.Minute, "WithMaxHold"},
			{"WithMaxHold under TTL", distlock.WithMaxHold(time.Second), time.Second, "WithMaxHold"},
		} {
			bubbleIn(t, kind+"/"+test.name, func(t *testing.T) {
				b, v := memory.New(), newVault()
				c := newClient(t, b, distlock.WithTTL(ttl))
				if kind == "session" {
					c = newClient(t, v, distlock.WithTTL(ttl))
				}
				other := acquire(t, c, "other")
				time.Sleep(time.Second)
				start := time.Now()
				l := acquire(t, c, "k", test.opt)
				<-l.Done()
				if d := time.Since(start); d != test.want {
					t.Errorf("ended after %v, want %v", d, test.want)
				}
				is(t, "Err", l.Err(), distlock.ErrLost)
				if got := l.Err().Error(); !strings.Contains(got, test.says) {
					t.Errorf("got %q, want it to name %s", got, test.says)
				}
				time.Sleep(time.Second)
				if held := append(v.held(), make([]string, b.Len())...); len(held) != 1 {
					t.Errorf("%d keys held after a second, want the other one alone", len(held))
				}
				is(t, "Err of the other lease", other.Err(), nil)
			})
		}
	}
}

func TestMaxHoldForEver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newClient(t, memory.New())
		time.Sleep(time.Second)
		l := acquire(t, c, "k", distlock.WithMaxHold(math.MaxInt64))
		time.Sleep(time.Hour)
		is(t, "Err", l.Err(), nil)
	})
}

// After a loss, and only then, nobody gets the key for the lock-delay.
func TestLockDelay(t *testing.T) {
	const ttl, delay = 10 * time.Second, 20 * time.Second
	for _, how := range []string{"renewals fail", "without renewal", "release"} {
		bubbleIn(t, how, func(t *testing.T) {
			b := memory.New()
			c := newClient(t, b, distlock.WithTTL(ttl), distlock.WithLockDelay(delay))
			other := newClient(t, b)
			var opts []distlock.Option
			if how == "without renewal" {
				opts = append(opts, distlock.WithoutRenewal())
			}
			l := acquire(t, c, "k", opts...)
			if how == "renewals fail" {
				b.SetHooks(memory.Hooks{Before: on(memory.Renew, netDown)})
			}
			if how == "release" {
				is(t, "Release", l.Release(t.Context()), nil)
			}
			<-l.Done()
			end := time.Now()
			acquire(t, other, "k")
			d := time.Since(end)
			if how == "release" && d != 0 || how != "release" && (d < delay || d > delay+time.Second) {
				t.Errorf("taken over %v after the end, lock-delay is %v", d, delay)
			}
		})
	}
}

func TestValidAllocatesNothing(t *testing.T) {
	c := newClient(t, memory.New())
	l := acquire(t, c, "k")
	ctx := l.Context(t.Context())
	for name, f := range map[string]func(){
		"Valid": func() { l.Valid() }, "Err": func() { _ = l.Err() }, "Done": func() { l.Done() },
		"Context.Err":      func() { _ = ctx.Err() },
		"TokenFromContext": func() { distlock.TokenFromContext(ctx) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times, want 0", name, n)
		}
	}
	if errors.Is(l.Err(), distlock.ErrLost) {
		t.Fatal("lost meanwhile: nothing was measured")
	}
}
