package distlock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

func TestContextEndsWithTheLease(t *testing.T) {
	for _, how := range []string{"release", "loss", "before"} {
		bubbleIn(t, how, func(t *testing.T) {
			b := memory.New()
			c := newClient(t, b)
			l := acquire(t, c, "k")
			var ctx context.Context
			if how != "before" {
				ctx = l.Context(t.Context())
				is(t, "Err", ctx.Err(), nil)
			}
			if how == "loss" {
				b.Expire("k")
				<-ctx.Done()
			} else {
				is(t, "Release", l.Release(t.Context()), nil)
			}
			if how == "before" {
				ctx = l.Context(t.Context())
			}
			is(t, "Err of the context", ctx.Err(), context.Canceled)
			if cause := context.Cause(ctx); cause == nil || cause != l.Err() {
				t.Errorf("cause is %v, want %v", cause, l.Err())
			}
			if n := l.Contexts(); n != 0 {
				t.Errorf("the lease keeps account of %d contexts", n)
			}
		})
	}
}

func TestContextEndsWithItsParent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newClient(t, memory.New())
		l := acquire(t, c, "k")
		why := errors.New("why")
		for range 100 {
			parent, cancel := context.WithCancelCause(t.Context())
			ctx := l.Context(parent)
			cancel(why)
			is(t, "Err", ctx.Err(), context.Canceled)
			is(t, "cause", context.Cause(ctx), why)
		}
		synctest.Wait()
		if n := l.Contexts(); n != 0 {
			t.Errorf("the lease keeps account of %d contexts", n)
		}
		if !l.Valid() {
			t.Error("the lease ended with a context")
		}
	})
}

// foreign is a context that the context package does not know.
type foreign struct{ context.Context }

func (f foreign) Done() <-chan struct{} { return f.Context.Done() }

func (f foreign) Value(any) any { return nil }

func TestContextCostsNothingAfterItsEnd(t *testing.T) { // not parallel: it counts goroutines
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, memory.New())
		parent, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.Sleep(3 * time.Second)
		before := runtime.NumGoroutine()
		for range 100 {
			l := acquire(t, c, "k")
			l.Context(parent)
			l.Context(foreign{parent})
			is(t, "Release", l.Release(t.Context()), nil)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > before+50 { // some are the runtime's and earlier tests'
			t.Errorf("%d goroutines, %d before", n, before)
		}
	})
}

func TestDerivedContextsNeedNoGoroutine(t *testing.T) {
	c := newClient(t, memory.New())
	l := acquire(t, c, "k")
	ctx := l.Context(t.Context())
	before := runtime.NumGoroutine()
	var cancels []context.CancelFunc
	for range 100 {
		child, cancel := context.WithTimeout(context.WithValue(ctx, ctxKey{}, 1), time.Hour)
		_, cancel2 := context.WithCancelCause(child)
		cancels = append(cancels, cancel, func() { cancel2(nil) })
	}
	if n := runtime.NumGoroutine(); n > before+50 {
		t.Errorf("%d goroutines for 200 derived contexts", n-before)
	}
	for _, cancel := range cancels {
		cancel()
	}
}

func TestTokenFromContextGivesTheInnermostLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newClient(t, memory.New())
		if key, token, ok := distlock.TokenFromContext(t.Context()); ok || key != "" || token != 0 {
			t.Errorf("without a lease: %q, %v, %v", key, token, ok)
		}
		outer, inner := acquire(t, c, "outer"), acquire(t, c, "inner")
		octx := outer.Context(t.Context())
		ictx, cancel := context.WithCancel(inner.Context(context.WithValue(octx, ctxKey{}, "v")))
		defer cancel()
		for ctx, want := range map[context.Context]*distlock.Lease{octx: outer, ictx: inner} {
			key, token, ok := distlock.TokenFromContext(ctx)
			if !ok || key != want.Key() || token != want.Token() {
				t.Errorf("got %q, %v, %v; want %q, %v", key, token, ok, want.Key(), want.Token())
			}
		}
		is(t, "Release", outer.Release(t.Context()), nil)
		is(t, "inner context", ictx.Err(), context.Canceled)
		is(t, "its cause", context.Cause(ictx), distlock.ErrReleased)
		if ictx.Value(ctxKey{}) != "v" || !inner.Valid() {
			t.Error("values are lost, or the inner lease is")
		}
	})
}

// A context whose Done and Err come back to the lease finds no lock held.
type curious struct {
	context.Context
	lease *distlock.Lease
}

func (c curious) Done() <-chan struct{} { c.lease.Err(); return c.Context.Done() }
func (c curious) Err() error            { c.lease.Contexts(); return c.Context.Err() }
func (c curious) Value(k any) any       { c.lease.Contexts(); return c.Context.Value(k) }

func TestContextsMayAskTheClient(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newClient(t, memory.New())
		l := acquire(t, c, "k")
		parent, cancel := context.WithCancel(t.Context())
		ctx := curious{parent, l}
		l.Context(ctx)
		other, err := c.Acquire(ctx, "other")
		is(t, "Acquire", err, nil)
		is(t, "Release", other.Release(ctx), nil)
		is(t, "Do", distlock.Do(ctx, c, "other", func(context.Context, *distlock.Lease) error { return nil }), nil)
		time.AfterFunc(time.Second, cancel)
		_, err = c.Acquire(ctx, "k")
		is(t, "Acquire", err, distlock.ErrHeld, context.Canceled)
	})
}

func TestContextWithToken(t *testing.T) {
	t.Parallel()
	c := newClient(t, memory.New())
	outer := distlock.ContextWithToken(t.Context(), "outer", 7)
	lease := acquire(t, c, "lease").Context(outer)
	inner := distlock.ContextWithToken(lease, "inner", 8)
	for ctx, want := range map[context.Context]string{outer: "outer 7", lease: "lease 1", inner: "inner 8"} {
		key, token, ok := distlock.TokenFromContext(ctx)
		if got := key + " " + token.String(); !ok || got != want {
			t.Errorf("got %q, %v, want %q", got, ok, want)
		}
	}
}
