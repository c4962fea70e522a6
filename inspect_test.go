package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// inspect looks at key, which must succeed.
func inspect(t testing.TB, c *distlock.Client, key string) distlock.LockInfo {
	t.Helper()
	info, err := c.Inspect(t.Context(), key)
	if err != nil {
		t.Fatalf("Inspect %q: %v", key, err)
	}
	return info
}

// The whole of what Inspect tells, in a time that can be told exactly.
func TestInspectTellsWhoHasTheKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		holder := newClient(t, b, distlock.WithHolder("web-3"), distlock.WithTTL(time.Minute), distlock.WithLockDelay(time.Second))
		other := newClient(t, b)
		show := func(what string, want distlock.LockInfo) {
			t.Helper()
			if got := inspect(t, other, "k"); got != want {
				t.Errorf("%s: got %+v, want %+v", what, got, want)
			}
		}
		show("never held", distlock.LockInfo{})
		l := acquire(t, holder, "k", distlock.WithoutRenewal())
		time.Sleep(20 * time.Second)
		show("held", distlock.LockInfo{Held: true, Token: 1, Holder: "web-3", Left: 41 * time.Second})
		ctx, leave := context.WithCancel(t.Context())
		var waits sync.WaitGroup
		for _, c := range []*distlock.Client{other, other, newClient(t, b)} {
			waits.Go(func() { _, _ = c.Acquire(ctx, "k") })
		}
		time.Sleep(time.Second)
		show("two clients wait", distlock.LockInfo{Held: true, Token: 1, Holder: "web-3", Left: 40 * time.Second, Waiters: 2})
		leave()
		waits.Wait()
		<-l.Done()
		time.Sleep(time.Millisecond)
		if got := inspect(t, other, "k"); !got.Held || got.Token != 1 || got.Left <= 0 || got.Left > 3*time.Second {
			t.Errorf("lost, during its lock-delay: got %+v", got)
		}
		time.Sleep(3 * time.Second)
		show("its lifetime is over", distlock.LockInfo{})
		l = acquire(t, holder, "k", distlock.WithMinHold(time.Minute), distlock.WithHolder(""))
		is(t, "Release", l.Release(t.Context()), nil)
		if got := inspect(t, other, "k"); !got.Held || got.Token != 2 || got.Holder != "" || got.Left > time.Minute {
			t.Errorf("released with a min-hold: got %+v", got)
		}
	})
}

// A Break with each outcome; what the holder hears; and what the trace is told.
func TestBreak(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		var told []string
		operator := newClient(t, b, distlock.WithLockDelay(5*time.Second), distlock.WithTrace(&distlock.Trace{
			Broken: func(_ context.Context, i distlock.BreakInfo) {
				told = append(told, fmt.Sprintf("%s %s %v %v %v %v", i.Backend, i.Key, i.Token, i.Delay, i.Duration, i.Err))
			},
		}))
		holder, next := newClient(t, b), newClient(t, b)
		l := acquire(t, holder, "k")
		is(t, "Break of another grant", operator.Break(t.Context(), "k", 2), distlock.ErrStale)
		if !l.Valid() {
			t.Error("Break of another grant ended the lease")
		}
		is(t, "Break", operator.Break(t.Context(), "k", l.Token()), nil)
		broken := time.Now()
		if got, want := inspect(t, next, "k"), (distlock.LockInfo{Left: 5 * time.Second}); got != want {
			t.Errorf("in the lock-delay: got %+v, want %+v", got, want)
		}
		is(t, "Break again", operator.Break(t.Context(), "k", l.Token()), distlock.ErrStale)
		if _, err := next.TryAcquire(t.Context(), "k"); !errors.Is(err, distlock.ErrHeld) {
			t.Fatalf("TryAcquire in the lock-delay: got %v, want ErrHeld", err)
		}
		after := acquire(t, next, "k")
		if d := time.Since(broken); d < 5*time.Second || d > 6*time.Second {
			t.Errorf("the next grant came after %v, want 5 s and at most a poll", d)
		}
		<-l.Done()
		if d := time.Since(broken); d > 10*time.Second {
			t.Errorf("the holder has heard after %v, want one renewal interval", d)
		}
		is(t, "Err of the holder", l.Err(), distlock.ErrLost)
		is(t, "Release of the holder", l.Release(t.Context()), distlock.ErrLost)
		is(t, "Err of the next", after.Err(), nil)
		want := []string{
			`memory k 2 5s 0s distlock: break "k" (memory): stale token: that grant does not have the key`,
			"memory k 1 5s 0s <nil>",
			`memory k 1 5s 0s distlock: break "k" (memory): stale token: that grant does not have the key`,
		}
		if fmt.Sprint(told) != fmt.Sprint(want) {
			t.Errorf("the trace was told %q, want %q", told, want)
		}
	})
}

// Without a lock-delay the next waiter has it at once.
func TestBreakHandsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		l := acquire(t, newClient(t, b), "k")
		operator, start := newClient(t, b), time.Now()
		time.AfterFunc(time.Second+time.Nanosecond, func() { is(t, "Break", operator.Break(t.Context(), "k", l.Token()), nil) })
		next := acquire(t, newClient(t, b), "k")
		if d := time.Since(start); d > time.Second+time.Millisecond || next.Token() <= l.Token() {
			t.Errorf("the waiter has token %v after %v, want a larger one than %v at once", next.Token(), d, l.Token())
		}
	})
}

// both calls of one client, with their errors.
func bothCalls(ctx context.Context, c *distlock.Client, key string, t distlock.Token) map[string]error {
	_, err := c.Inspect(ctx, key)
	return map[string]error{"inspect": err, "break": c.Break(ctx, key, t)}
}

func TestInspectAndBreakFail(t *testing.T) {
	t.Parallel()
	b := memory.New()
	c := newClient(t, b)
	l := acquire(t, c, "k")
	ctx := t.Context()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	closed := newClient(t, b)
	is(t, "Close", closed.Close(ctx), nil)
	foreign := newClient(t, foreignData{b})
	blind := newClient(t, struct{ distlock.Backend }{b})
	for what, test := range map[string]struct {
		errs map[string]error
		want []error
	}{
		"an empty key":   {bothCalls(ctx, c, "", 1), []error{distlock.ErrInvalid}},
		"a key with NUL": {bothCalls(ctx, c, "a\x00", 1), []error{distlock.ErrInvalid}},
		"a closed one":   {bothCalls(ctx, closed, "k", l.Token()), []error{distlock.ErrClosed}},
		"an ended ctx":   {bothCalls(ended, c, "k", l.Token()), []error{context.Canceled}},
		"no Inspector":   {bothCalls(ctx, blind, "k", l.Token()), []error{errors.ErrUnsupported}},
		"foreign data":   {bothCalls(ctx, foreign, "k", l.Token()), []error{distlock.ErrForeign}},
	} {
		for op, err := range test.errs {
			is(t, op+" of "+what, err, test.want...)
			var e *distlock.Error
			if !errors.As(err, &e) || e.Op != op || e.Backend != "memory" || errors.As(e.Err, new(*distlock.Error)) {
				t.Errorf("%s of %s: got %#v, want an *Error of that op, wrapped once", op, what, err)
			}
		}
	}
	for _, token := range []distlock.Token{0, 1 << 63} {
		is(t, "Break of no token", c.Break(ctx, "k", token), distlock.ErrInvalid)
	}
	is(t, "Break without tokens", newClient(t, unfenced{b}).Break(ctx, "k", 1), errors.ErrUnsupported)
	if !l.Valid() || inspect(t, c, "k").Token != l.Token() {
		t.Error("a call that failed has ended the lease")
	}
	err := c.Break(ctx, "k", 0)
	if want := `distlock: break "k" (memory): invalid argument: token is 0, must be from 1 to 9223372036854775807`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// A lost reply is the service's own error, never the caller's deadline, and a second
// Break says that the grant has ended.
func TestBreakOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	b := memory.New()
	c := newClient(t, b)
	l := acquire(t, newClient(t, b), "k")
	b.SetHooks(memory.Hooks{After: on(memory.Break, func(context.Context) error { return fmt.Errorf("of its own: %w", context.DeadlineExceeded) })})
	err := c.Break(t.Context(), "k", l.Token())
	if err == nil {
		t.Fatal("Break without a reply: got nil")
	}
	isNot(t, "Break without a reply", err, context.DeadlineExceeded, distlock.ErrStale)
	b.SetHooks(memory.Hooks{Before: on(memory.Inspect, netDown)})
	_, err = c.Inspect(t.Context(), "k")
	is(t, "Inspect without a request", err, errNet)
	b.SetHooks(memory.Hooks{})
	is(t, "Break again", c.Break(t.Context(), "k", l.Token()), distlock.ErrStale)
}

// foreignData is a backend that finds something foreign under each key.
type foreignData struct{ *memory.Backend }

func (foreignData) Inspect(context.Context, string) (distlock.LockInfo, error) {
	return distlock.LockInfo{Held: true}, distlock.ErrForeign
}

func (foreignData) Break(context.Context, string, distlock.Token, time.Duration) error {
	return distlock.ErrForeign
}

// unfenced is a backend that must not be asked to break.
type unfenced struct{ *memory.Backend }

func (b unfenced) Info() distlock.Info {
	i := b.Backend.Info()
	i.Fencing = distlock.FencingNone
	return i
}
