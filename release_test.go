package distlock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

func TestReleaseOutcomes(t *testing.T) {
	for _, test := range []struct {
		name  string
		hooks memory.Hooks // during the first Release
		gone  bool         // the server has forgotten the grant
		want  [3]error     // of three calls in a row, the first under hooks
	}{
		{"answered", memory.Hooks{}, false, [3]error{nil, distlock.ErrReleased, distlock.ErrReleased}},
		{"lost request", memory.Hooks{Before: on(memory.Release, netDown)}, false, [3]error{errNet, nil, distlock.ErrReleased}},
		{"lost reply", memory.Hooks{After: on(memory.Release, netDown)}, false, [3]error{errNet, nil, distlock.ErrReleased}},
		{"not ours any more", memory.Hooks{}, true, [3]error{distlock.ErrLost, distlock.ErrLost, distlock.ErrLost}},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := memory.New()
				c := newClient(t, b)
				l := acquire(t, c, "k")
				if test.gone {
					b.Expire("k")
				}
				b.SetHooks(test.hooks)
				for i, want := range test.want {
					err := l.Release(t.Context())
					b.SetHooks(memory.Hooks{})
					is(t, "Release", err, want)
					var e *distlock.Error
					if err != nil && (!errors.As(err, &e) || e.Key != "k" || errors.As(e.Err, new(*distlock.Error))) {
						t.Errorf("call %d: got %#v, want one *Error", i, err)
					}
					is(t, "Err", l.Err(), distlock.ErrReleased)
				}
				time.Sleep(time.Second)
				if b.Len() != 0 {
					t.Error("still held")
				}
			})
		})
	}
}

// From the first call on, whatever becomes of it.
func TestReleaseEndsTheLeaseBeforeItAsks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		l := acquire(t, c, "k")
		ctx := l.Context(t.Context())
		b.SetHooks(memory.Hooks{Before: on(memory.Release, func(context.Context) error {
			if l.Valid() || !isOver(l.Done()) || !errors.Is(l.Err(), distlock.ErrReleased) {
				t.Error("the lease is not over while it is released")
			}
			if ctx.Err() == nil || !errors.Is(context.Cause(ctx), distlock.ErrReleased) {
				t.Error("its context is not over while it is released")
			}
			return nil
		})})
		is(t, "Release", l.Release(t.Context()), nil)
	})
}

func TestReleaseOutlivesItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		l := acquire(t, c, "k")
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), ctxKey{}, "v"))
		cancel()
		b.SetHooks(memory.Hooks{Before: on(memory.Release, func(ctx context.Context) error {
			if ctx.Value(ctxKey{}) != "v" {
				t.Error("the request does not carry the values of ctx")
			}
			return ctx.Err()
		})})
		is(t, "Release", l.Release(ctx), nil)
	})
}

type ctxKey struct{}

func TestReleaseIsBounded(t *testing.T) {
	for _, test := range []struct{ has, want time.Duration }{
		{0, distlock.CloseBound},
		{time.Second, distlock.CloseBound},
		{20 * time.Second, 20 * time.Second},
	} {
		bubbleIn(t, test.has.String(), func(t *testing.T) {
			b := memory.New()
			c := newClient(t, b, distlock.WithTTL(time.Minute))
			l := acquire(t, c, "k")
			ctx := t.Context()
			if test.has > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, test.has)
				defer cancel()
			}
			b.SetHooks(memory.Hooks{Before: on(memory.Release, hang)})
			start := time.Now()
			err := l.Release(ctx)
			isNot(t, "Release", err, nil, context.DeadlineExceeded, distlock.ErrLost)
			if d := time.Since(start); d != test.want {
				t.Errorf("took %v, want %v", d, test.want)
			}
			b.SetHooks(memory.Hooks{})
			time.Sleep(distlock.CloseBound + 2*time.Second) // the next try may hang already
			if b.Len() != 0 {
				t.Error("the client did not go on trying behind the call")
			}
			is(t, "Release again", l.Release(t.Context()), nil)
		})
	}
}

// A second call waits for the first, but no longer than its own bound.
func TestSecondReleaseIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		l := acquire(t, c, "k")
		b.SetHooks(memory.Hooks{Before: on(memory.Release, func(context.Context) error {
			time.Sleep(20 * time.Second)
			return nil
		})})
		long, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() { is(t, "first", l.Release(long), nil) })
		time.Sleep(time.Second)
		start := time.Now()
		err := l.Release(t.Context())
		isNot(t, "second", err, nil, distlock.ErrLost, distlock.ErrReleased)
		if d := time.Since(start); d != distlock.CloseBound {
			t.Errorf("took %v, want %v", d, distlock.CloseBound)
		}
		wg.Wait()
		is(t, "third", l.Release(t.Context()), distlock.ErrReleased)
	})
}

func TestConcurrentReleasesGiveNilOnce(t *testing.T) {
	t.Parallel()
	b := memory.New()
	c := newClient(t, b)
	for range 500 {
		l := acquire(t, c, "k")
		var nils atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := l.Release(t.Context()); err == nil {
					nils.Add(1)
				} else {
					is(t, "Release", err, distlock.ErrReleased)
				}
			})
		}
		wg.Wait()
		if n := nils.Load(); n != 1 {
			t.Fatalf("%d calls returned nil, want 1", n)
		}
	}
}

// The deadline, a Release and Close race for the end of each lease.
func TestReleaseAgainstLossAndClose(t *testing.T) {
	t.Parallel()
	for range 60 {
		b := memory.New()
		c := newClient(t, b, distlock.WithTTL(12*time.Millisecond), distlock.WithoutRenewal())
		var wg sync.WaitGroup
		for _, key := range []string{"a", "b", "c", "d"} {
			l, err := c.TryAcquire(t.Context(), key)
			if err != nil {
				continue // the machine was too slow for such a TTL
			}
			ctx := l.Context(t.Context())
			wg.Go(func() {
				time.Sleep(time.Until(l.Deadline()))
				err := l.Release(t.Context())
				if err != nil && !errors.Is(err, distlock.ErrLost) && !errors.Is(err, distlock.ErrReleased) {
					t.Errorf("Release: %v", err)
				}
				first := l.Err()
				if l.Valid() || first == nil || !isOver(l.Done()) {
					t.Errorf("not over after Release: %v", first)
				}
				<-ctx.Done()
				if cause := context.Cause(ctx); cause != first {
					t.Errorf("cause is %v, Err is %v", cause, first)
				}
			})
		}
		wg.Go(func() { time.Sleep(9 * time.Millisecond); is(t, "Close", c.Close(t.Context()), nil) })
		wg.Wait()
		if b.Len() != 0 {
			t.Error("something is still held after Close")
		}
	}
}

// A renewal under way ends before the release is sent; a hung one keeps the
// release back, and what may be left is deleted only when it has ended.
func TestNoReleaseBesideARenewal(t *testing.T) {
	for _, how := range []string{"answered", "hung", "deadline"} {
		bubbleIn(t, how, func(t *testing.T) {
			b := memory.New()
			c := newClient(t, b)
			l := acquire(t, c, "k")
			var renewing atomic.Bool
			b.SetHooks(memory.Hooks{Before: func(ctx context.Context, op memory.Op, _ string) error {
				if op == memory.Release && renewing.Load() {
					t.Error("a release beside a renewal")
				}
				if op != memory.Renew {
					return nil
				}
				renewing.Store(true)
				defer renewing.Store(false)
				if how == "answered" {
					time.Sleep(3 * time.Second)
					return nil
				}
				return hang(ctx)
			}})
			time.Sleep(11 * time.Second)
			switch how {
			case "answered":
				is(t, "Release", l.Release(t.Context()), nil)
			case "hung":
				isNot(t, "Release", l.Release(t.Context()), nil, distlock.ErrLost)
			}
			time.Sleep(time.Minute)
			if b.Len() != 0 {
				t.Error("still held")
			}
		})
	}
}

func TestReleaseDuringRenewalSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b, distlock.WithTTL(3*time.Second))
		b.SetHooks(memory.Hooks{Before: on(memory.Renew, func(context.Context) error {
			time.Sleep(50 * time.Millisecond)
			return nil
		})})
		for i := range 300 {
			l := acquire(t, c, "k")
			time.Sleep(970*time.Millisecond + time.Duration(i)*300*time.Microsecond)
			is(t, "Release", l.Release(t.Context()), nil)
		}
	})
}

// A release frees no later grant, and says that its own was lost.
func TestReleaseTouchesNoLaterLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b), newClient(t, b)
		l := acquire(t, c, "k")
		b.Expire("k")
		later := acquire(t, other, "k")
		is(t, "Release", l.Release(t.Context()), distlock.ErrLost)
		time.Sleep(time.Minute)
		is(t, "Err of the later lease", later.Err(), nil)
		if later.Token() <= l.Token() {
			t.Errorf("token %v after %v", later.Token(), l.Token())
		}
	})
}

// A release that was carried out without an answer is found to be so at once.
func TestReleaseWhoseReplyIsLostIsAskedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		l := acquire(t, c, "k")
		var once sync.Once
		b.SetHooks(memory.Hooks{After: on(memory.Release, func(ctx context.Context) (err error) {
			once.Do(func() { err = netDown(ctx) })
			return err
		})})
		is(t, "Release", l.Release(t.Context()), nil)
		is(t, "Release again", l.Release(t.Context()), distlock.ErrReleased)
	})
}

// A grant that the server has lost is lost, whatever was not even sent before:
// only a request that may have been carried out can have freed the key.
func TestUnsentReleaseFreesNothing(t *testing.T) {
	unsent := func(context.Context) error { return distlock.Refused(errNet) }
	for _, test := range []struct {
		name   string
		option distlock.Option
		op     memory.Op
		before func(context.Context) error // of the requests of the first call, and of those behind it
		want   error                       // of the second call
	}{
		{"not sent", distlock.WithTTL(20 * time.Second), memory.Release, unsent, distlock.ErrLost},
		{"not sent once", distlock.WithTTL(20 * time.Second), memory.Release, once(unsent, netDown), nil},
		{"sent once", distlock.WithTTL(20 * time.Second), memory.Release, once(netDown, unsent), nil},
		{"not sent, min-hold", distlock.WithMinHold(20 * time.Second), memory.Renew, unsent, distlock.ErrLost},
	} {
		bubbleIn(t, test.name, func(t *testing.T) {
			b := memory.New()
			l := acquire(t, newClient(t, b), "k", test.option)
			b.SetHooks(memory.Hooks{Before: on(test.op, test.before)})
			is(t, "Release", l.Release(t.Context()), errNet)
			synctest.Wait() // the client has tried behind the call
			b.Expire(l.Key())
			b.SetHooks(memory.Hooks{})
			is(t, "Release again", l.Release(t.Context()), test.want)
		})
	}
}

// What the client does behind a Release that was not sent can free the key.
func TestCleanUpBehindAnUnsentReleaseFreesTheKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		l := acquire(t, newClient(t, b), "k")
		b.SetHooks(memory.Hooks{Before: on(memory.Release, func(context.Context) error { return distlock.Refused(errNet) })})
		is(t, "Release", l.Release(t.Context()), errNet)
		b.SetHooks(memory.Hooks{})
		time.Sleep(2 * time.Second)
		if b.Len() != 0 {
			t.Fatal("still held")
		}
		is(t, "Release again", l.Release(t.Context()), nil)
	})
}

// once is f the first time and then always g.
func once(f, g func(context.Context) error) func(context.Context) error {
	var done atomic.Bool
	return func(ctx context.Context) error {
		if done.Swap(true) {
			return g(ctx)
		}
		return f(ctx)
	}
}
