package faults_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
)

// Stands for: a time-out was reported although the lock was granted, and its own next
// attempt, or everybody else's, waited behind it for a whole lifetime.
func TestLostReplyOfAnAcquireBlocksNobody(t *testing.T) {
	t.Parallel()
	const ttl = 6 * time.Second
	for _, c := range []struct {
		name    string
		replies proxy.Mode
		after   func(*wire) // what happens once the call has ended
		within  time.Duration
	}{
		{"lost", proxy.Swallow, (*wire).restore, time.Second},
		{"late", proxy.Hold, (*wire).restore, time.Second},
		{"on a connection that stays dead", proxy.Swallow, (*wire).reroute, time.Second},
		{"and all others for ever", proxy.Swallow, func(*wire) {}, ttl + time.Second/2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, distlock.WithTTL(ttl))
			next := locksAt(t, w.server.Addr())
			w.link.Set(proxy.Pass, c.replies)
			l, err := w.locks.TryAcquire(within(t, 100*time.Millisecond), t.Name())
			if !errors.Is(err, context.DeadlineExceeded) || l != nil {
				t.Fatalf("got %v, %v, want the caller's own deadline", l, err)
			}
			if w.value(t.Name()) == "" {
				t.Fatal("the request was not carried out")
			}
			start := time.Now()
			c.after(w)
			l, err = next.Acquire(within(t, bound), t.Name())
			took := time.Since(start)
			t.Logf("the next client waited %v", took)
			if err != nil || took > c.within {
				t.Fatalf("got %v after %v, want the lock within %v", err, took, c.within)
			}
			w.restore()
			throughout(t, time.Second/2, "the next lease is there", func() bool {
				return w.value(t.Name()) != ""
			})
			release(t, l)
		})
	}
}

// Stands for: one renewal whose answer was lost had been carried out, the next one met
// its result, took it for another's, and a lease was given up that had never ended.
func TestLostReplyOfARenewalLosesNothing(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	w := newWire(t, distlock.WithTTL(ttl))
	l := acquire(t, w.locks, t.Name())
	before := w.value(l.Key())
	w.link.Set(proxy.Pass, proxy.Swallow)
	eventually(t, ttl, "a renewal's reply is lost", func() bool { return w.link.Stats().Replies.Lost > 0 })
	w.restore()
	throughout(t, ttl*3/2, "the lease is valid", l.Valid)
	if got := w.value(l.Key()); got != before {
		t.Errorf("got %q on the server, want what the grant wrote", got)
	}
	release(t, l)
}

// Stands for: a release had no answer, was taken for done or for failed, and calling
// again was an error or freed a later holder's lock.
func TestLostReplyOfAReleaseIsFoundOut(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	l := acquire(t, w.locks, t.Name())
	w.link.Set(proxy.Pass, proxy.Swallow)
	result := make(chan error, 1)
	go func() { result <- l.Release(t.Context()) }()
	next := acquire(t, locksAt(t, w.server.Addr()), t.Name()) // it was carried out
	w.restore()
	if err := <-result; err != nil {
		t.Errorf("got %v from the release that was carried out without an answer, want nil", err)
	}
	if err := l.Release(t.Context()); !errors.Is(err, distlock.ErrReleased) {
		t.Errorf("got %v from the second release, want ErrReleased", err)
	}
	throughout(t, time.Second, "the next lease is there", func() bool { return w.value(t.Name()) != "" })
	release(t, next)
}

// isContextError reports whether err looks as if the caller's own ctx had ended.
func isContextError(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// Stands for: a deferred unlock runs on the request's context, which has ended, and the
// lock stays until it expires.
func TestReleaseWithACancelledContextReleases(t *testing.T) {
	t.Parallel()
	s := healthyServer(t)
	slow := s.Proxy(t)
	locks := locksAt(t, slow.Addr())
	slow.Delay(2*time.Millisecond, 2*time.Millisecond)
	rdb := dial(t, s.Addr())
	var running sync.WaitGroup
	for i := range 200 { // cancelled before the call, and at 200 moments within it
		running.Go(func() {
			key := t.Name() + time.Duration(i).String()
			l := acquire(t, locks, key)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if d := time.Duration(i) * 40 * time.Microsecond; d == 0 {
				cancel()
			} else {
				defer time.AfterFunc(d, cancel).Stop()
			}
			if err := l.Release(ctx); err != nil {
				t.Errorf("cancelled %d: got %v, want nil", i, err)
			}
			if v := value(t, rdb, lockName(key)); v != "" {
				t.Errorf("cancelled %d: the lock is still there", i)
			}
		})
	}
	running.Wait()
}
