package faults_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	goredis "github.com/redis/go-redis/v9"
)

// Stands for: a hidden time-out of a few milliseconds makes a slow server look like a
// dead one, with a deadline's error that the caller never set.
func TestSlowServerWorks(t *testing.T) {
	t.Parallel()
	w := newWire(t, distlock.WithTTL(4*time.Second))
	w.link.Delay(250*time.Millisecond, 250*time.Millisecond)
	ctx := context.Background()
	l, err := w.locks.TryAcquire(ctx, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	throughout(t, 6*time.Second, "it is renewed", l.Valid)
	waiter := await(t, w.locks, t.Name())
	if err := l.Release(ctx); err != nil {
		t.Error(err)
	}
	waiter.gets(t, 3*time.Second)
}

// Stands for: calls that hang with a server that accepts and never answers, although
// their ctx has ended; and time-outs of the library's own that look like the caller's.
func TestHungServerHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	const short = 200 * time.Millisecond
	w := newWire(t, distlock.WithTTL(3*time.Second))
	l := acquire(t, w.locks, t.Name())
	w.link.Set(proxy.Swallow, proxy.Swallow)
	for _, call := range []func(context.Context, string, ...distlock.Option) (*distlock.Lease, error){
		w.locks.TryAcquire, w.locks.Acquire,
	} {
		took := timed(func() {
			if _, err := call(within(t, short), t.Name()+"-other"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the caller's deadline", err)
			}
		})
		if took < short || took > short+300*time.Millisecond {
			t.Errorf("it took %v, want %v", took, short)
		}
	}
	took := timed(func() {
		if _, err := w.locks.TryAcquire(context.Background(), t.Name()+"-other"); err == nil || isContextError(err) {
			t.Errorf("got %v, want an error that is nobody's ctx's", err)
		}
	})
	if took > 10*time.Second {
		t.Errorf("an attempt without a deadline took %v", took)
	}
	took = timed(func() {
		if err := l.Release(context.Background()); err == nil || isContextError(err) {
			t.Errorf("got %v, want an error that is nobody's ctx's", err)
		}
	})
	if took > 5500*time.Millisecond {
		t.Errorf("a release took %v, want at most 5 s", took)
	}
	took = timed(func() {
		if err := w.locks.Close(within(t, short)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v from Close, want the caller's deadline", err)
		}
	})
	if took > short+300*time.Millisecond {
		t.Errorf("Close took %v, want %v", took, short)
	}
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// Stands for: a port where nobody listens is retried in silence.
func TestDeadPortIsToldAtOnce(t *testing.T) {
	// Not parallel: it looks at the process's goroutines.
	before := goroutines()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	rdb := goredis.NewClient(&goredis.Options{Addr: addr})
	locks := lockOn(t, rdb)
	for _, call := range []func(context.Context, string, ...distlock.Option) (*distlock.Lease, error){
		locks.TryAcquire, locks.Acquire,
	} {
		took := timed(func() {
			_, err := call(context.Background(), "nobody")
			if !errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, distlock.ErrHeld) {
				t.Errorf("got %v, want the refused connection", err)
			}
		})
		t.Logf("it took %v", took)
		if took > 2*time.Second { // go-redis itself tries five times within half a second
			t.Errorf("it took %v, want it at once", took)
		}
	}
	if err := locks.Close(within(t, bound)); err != nil {
		t.Error(err)
	}
	rdb.Close()
	checkEnded(t, 5*time.Second, before)
}
