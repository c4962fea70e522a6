package distlock_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

func TestDoOutcomes(t *testing.T) {
	own := errors.New("fn's own")
	lose := func(b *memory.Backend, l *distlock.Lease) { b.Expire(l.Key()); <-l.Done() }
	for _, test := range []struct {
		name string
		fn   func(ctx context.Context, b *memory.Backend, l *distlock.Lease) error
		want []error
		not  []error
	}{
		{"success", func(context.Context, *memory.Backend, *distlock.Lease) error { return nil }, []error{nil}, nil},
		{"failure", func(context.Context, *memory.Backend, *distlock.Lease) error { return own }, []error{own}, []error{distlock.ErrLost}},
		{"lost", func(_ context.Context, b *memory.Backend, l *distlock.Lease) error { lose(b, l); return nil }, []error{distlock.ErrLost}, nil},
		{"lost and failure", func(ctx context.Context, b *memory.Backend, l *distlock.Lease) error { lose(b, l); return own }, []error{own, distlock.ErrLost}, nil},
		{"lost and fn stopped", func(ctx context.Context, b *memory.Backend, l *distlock.Lease) error {
			b.Expire(l.Key())
			<-ctx.Done()
			return context.Cause(ctx)
		}, []error{distlock.ErrLost}, nil},
		{"not noticed", func(_ context.Context, b *memory.Backend, l *distlock.Lease) error { b.Expire(l.Key()); return nil }, []error{distlock.ErrLost}, nil},
		{"released by fn", func(ctx context.Context, b *memory.Backend, l *distlock.Lease) error { return l.Release(ctx) }, []error{nil}, nil},
		{"token", func(ctx context.Context, b *memory.Backend, l *distlock.Lease) error {
			if key, token, ok := distlock.TokenFromContext(ctx); !ok || key != l.Key() || token != l.Token() {
				return own
			}
			return nil
		}, []error{nil}, nil},
	} {
		bubbleIn(t, test.name, func(t *testing.T) {
			b := memory.New()
			c := newClient(t, b)
			err := distlock.Do(t.Context(), c, "k", func(ctx context.Context, l *distlock.Lease) error {
				return test.fn(ctx, b, l)
			})
			is(t, "Do", err, test.want...)
			isNot(t, "Do", err, test.not...)
			if b.Len() != 0 {
				t.Error("still held")
			}
		})
	}
}

func TestDoReleasesWhenFnDoesNotReturn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() {
				if r := recover(); r != "boom" {
					t.Errorf("recovered %v, want fn's own panic", r)
				}
			}()
			distlock.Do(t.Context(), c, "panic", func(context.Context, *distlock.Lease) error { panic("boom") })
		})
		wg.Go(func() {
			distlock.Do(t.Context(), c, "goexit", func(context.Context, *distlock.Lease) error { runtime.Goexit(); return nil })
		})
		wg.Wait()
		if b.Len() != 0 {
			t.Error("still held")
		}
	})
}

// An unanswered release is no failure of fn's, and takes a bounded time
// whatever ctx has left.
func TestDoWithAnUnansweredRelease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		var released error
		c := newClient(t, b, distlock.WithTrace(&distlock.Trace{
			Released: func(_ context.Context, i distlock.ReleaseInfo) { released = i.Err },
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		is(t, "Do", distlock.Do(ctx, c, "k", func(context.Context, *distlock.Lease) error {
			b.SetHooks(memory.Hooks{Before: on(memory.Release, hang)})
			return nil
		}), nil)
		if d := time.Since(start); d != distlock.CloseBound {
			t.Errorf("took %v, want %v", d, distlock.CloseBound)
		}
		if released == nil {
			t.Error("the trace was not told")
		}
		b.SetHooks(memory.Hooks{})
		time.Sleep(distlock.CloseBound + 2*time.Second) // the next try may hang already
		if b.Len() != 0 {
			t.Error("the client did not go on trying")
		}
	})
}

// Close ends the contexts of functions that run, keeps their leases renewed
// while it waits for them, and releases those after.
func TestCloseAwaitsFunctionsOfDo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b), newClient(t, b)
		start := time.Now()
		done := make(chan error, 1)
		go func() {
			done <- distlock.Do(t.Context(), c, "k", func(ctx context.Context, l *distlock.Lease) error {
				<-ctx.Done()
				is(t, "cause", context.Cause(ctx), distlock.ErrReleased)
				_, err := c.TryAcquire(context.WithoutCancel(ctx), "more")
				is(t, "TryAcquire", err, distlock.ErrClosed)
				time.Sleep(time.Hour) // deaf
				_, err = other.TryAcquire(context.WithoutCancel(ctx), "k")
				is(t, "the other's TryAcquire", err, distlock.ErrHeld)
				return nil
			})
		}()
		time.Sleep(time.Second)
		is(t, "Close", c.Close(t.Context()), nil)
		if d := time.Since(start); d < time.Hour {
			t.Errorf("Close did not wait: %v", d)
		}
		is(t, "Do", <-done, nil)
		acquire(t, other, "k")
	})
}

func TestCloseGivesUpOnAFunctionThatDoesNotStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b), newClient(t, b)
		done := make(chan error, 1)
		go func() {
			done <- distlock.Do(t.Context(), c, "k", func(context.Context, *distlock.Lease) error {
				time.Sleep(time.Hour)
				return nil
			})
		}()
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := c.Close(ctx)
		is(t, "Close", err, context.DeadlineExceeded)
		time.Sleep(time.Second)
		acquire(t, other, "k")
		is(t, "second Close", c.Close(t.Context()), nil)
		is(t, "Do", <-done, nil)
	})
}

func TestDoWithoutALeaseDoesNotCallFn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b), newClient(t, b)
		acquire(t, other, "k")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := distlock.Do(ctx, c, "k", func(context.Context, *distlock.Lease) error {
			t.Error("fn was called")
			return nil
		})
		is(t, "Do", err, distlock.ErrHeld, context.DeadlineExceeded)
	})
}
