package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

func closeReleases(r *row) {
	c, other := r.lasting(), r.lasting()
	var leases []*distlock.Lease
	for i := range 10 {
		leases = append(leases, r.try(c, fmt.Sprint(r.key, "/", i)))
	}
	ctx := leases[0].Context(r.ctx)
	if err := c.Close(r.within(r.patience())); err != nil {
		r.Fatalf("Close: got %v, want nil", err)
	}
	r.is("the cause of a lease context's end", context.Cause(ctx), distlock.ErrReleased)
	for _, l := range leases {
		r.is("Err of a lease after Close", l.Err(), distlock.ErrReleased)
		r.is("Release after Close", l.Release(r.ctx), distlock.ErrReleased)
		r.release(r.try(other, l.Key()))
	}
	if err := c.Close(r.ctx); err != nil {
		r.Errorf("a second Close: got %v, want nil", err)
	}
	for name, f := range acquirers(c) {
		_, err := f(r.within(r.patience()), r.key)
		r.is(name+" after Close", err, distlock.ErrClosed)
	}
	r.is("Ping after Close", c.Ping(r.ctx), distlock.ErrClosed)
}

func closeEndsWaits(r *row) {
	holder, c := r.lasting(), r.lasting()
	l := r.try(holder, r.key)
	waits := []<-chan result{r.wait(r.ctx, c, r.key), r.wait(r.ctx, c, r.key)}
	r.throughout(slack/5, func() error { return l.Err() }) // time for the first attempt to be refused
	if err := c.Close(r.within(r.patience())); err != nil {
		r.Errorf("Close: %v", err)
	}
	for _, results := range waits {
		r.is("a wait that Close ended", r.ended(results, slack).err, distlock.ErrClosed)
	}
	r.release(l)
	r.release(r.try(holder, r.key))
	r.nothingLeft(r.key)
}

func closeAwaitsDo(r *row) {
	c, other := r.lasting(), r.lasting()
	began, finish, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	finished := sync.OnceFunc(func() { close(finish) })
	defer finished()
	ctx := r.within(5 * r.patience())
	go func() { // ends with finish
		result <- distlock.Do(ctx, c, r.key, func(ctx context.Context, _ *distlock.Lease) error {
			close(began)
			<-ctx.Done() // Close's doing
			<-finish
			return context.Cause(ctx)
		})
	}()
	select {
	case <-began:
	case err := <-result:
		r.Fatalf("Do: %v", err)
	}
	closed := make(chan error, 1)
	go func() { closed <- c.Close(ctx) }() // ends soon after finish
	r.throughout(slack, func() error {
		if len(closed) > 0 {
			return errors.New("a function that runs in Do was not awaited by Close")
		}
		r.refused(other, r.key)
		return nil
	})
	finished()
	err := <-result
	r.is("the cause of fn's ctx", err, distlock.ErrReleased)
	if errors.Is(err, distlock.ErrLost) {
		r.Errorf("Do reports a loss: %v", err)
	}
	if err := <-closed; err != nil {
		r.Errorf("Close: %v", err)
	}
	r.release(r.try(other, r.key))
}

func doReleases(r *row) {
	c, other := r.lasting(), r.lasting()
	failed := errors.New("failed")
	ends := map[string]func() error{
		"returns nil":  func() error { return nil },
		"fails":        func() error { return failed },
		"panics":       func() error { panic(failed) },
		"calls Goexit": func() error { runtime.Goexit(); return nil },
	}
	for name, end := range ends {
		done := make(chan error, 1)
		ctx := r.within(r.patience())
		go func() { // ends with fn
			var err error
			defer func() {
				if p := recover(); p != nil && p != any(failed) {
					err = fmt.Errorf("panic: %v", p)
				}
				done <- err
			}()
			err = distlock.Do(ctx, c, r.key, func(ctx context.Context, l *distlock.Lease) error {
				if key, tok, ok := distlock.TokenFromContext(ctx); key != l.Key() || tok != l.Token() || !ok {
					return errors.New("the lease is not in fn's ctx")
				}
				return end()
			})
		}()
		if err := <-done; err != nil && err != failed {
			r.Errorf("Do, fn %s: %v", name, err)
		}
		l, err := other.TryAcquire(r.within(r.patience()), r.key)
		if err != nil {
			r.Fatalf("after fn %s, the key is not free: %v", name, err)
		}
		r.release(l)
	}
}

func doReportsLoss(r *row) {
	c := r.short()
	failed := errors.New("failed")
	ctx := r.within(3 * r.patience())
	start := time.Now()
	for i, want := range []error{nil, failed} {
		err := distlock.Do(ctx, c, fmt.Sprint(r.key, "/", i), func(ctx context.Context, _ *distlock.Lease) error {
			select {
			case <-ctx.Done():
				r.is("the cause of fn's ctx", context.Cause(ctx), distlock.ErrLost)
			case <-time.After(r.patience()):
				r.Error("fn's ctx does not end with the lease")
			}
			return want
		}, distlock.WithoutRenewal())
		r.is("Do after a loss", err, distlock.ErrLost)
		if want != nil {
			r.is("Do after a loss", err, want)
		}
	}
	if took := time.Since(start); took > 2*(r.terms(r.h.TTL).TTL+slack) {
		r.Errorf("two losses took %v", took)
	}
}

func lockDelay(r *row) {
	delay := r.h.LockDelay
	c := r.short(distlock.WithLockDelay(delay))
	other := r.short(distlock.WithLockDelay(delay))
	l := r.acquire(c, r.key)
	r.release(l)
	r.release(r.try(other, r.key)) // a clean release frees it at once

	l = r.acquire(c, r.key, distlock.WithoutRenewal())
	results := r.wait(r.ctx, other, r.key)
	r.ends(l, r.h.Expiry+slack)
	delayed(r, l, results)
}

func lockDelayAfterCrash(r *row) {
	other := r.short(distlock.WithLockDelay(r.h.LockDelay))
	l, _ := crash(r, r.key, r.h.LockDelay)
	delayed(r, l, r.wait(r.ctx, other, r.key))
}

// delayed checks that the grant after l, which is or will be lost, comes a
// lock-delay later and no later than it must.
func delayed(r *row, l *distlock.Lease, results <-chan result) {
	next := r.got(results, r.h.Expiry+r.h.LockDelay+pollEvery+2*slack)
	if since := next.at.Sub(l.Deadline()); since < r.h.LockDelay {
		r.Errorf("the next grant came %v after the deadline of a lost holder, the lock-delay is %v", since, r.h.LockDelay)
	}
	larger(r, l.Token(), next.lease)
	r.release(next.lease)
}
