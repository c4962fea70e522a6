package locktest

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

func releaseFrees(r *row) {
	a, b := r.lasting(), r.lasting()
	for range 5 {
		r.release(r.try(a, r.key))
		r.release(r.try(b, r.key))
	}
	r.nothingLeft(r.key)
}

func releaseWithEndedContext(r *row) {
	a, b := r.lasting(), r.lasting()
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	l := r.try(a, r.key)
	if err := l.Release(ctx); err != nil {
		r.Fatalf("Release with a ctx that has ended: got %v, want nil", err)
	}
	r.release(r.try(b, r.key))
}

func releaseTwice(r *row) {
	c := r.lasting()
	l := r.try(c, r.key)
	ctx := l.Context(r.ctx)
	r.release(l)
	select {
	case <-l.Done():
	default:
		r.Error("Done is open after Release")
	}
	if l.Valid() || !l.Deadline().After(time.Time{}) {
		r.Errorf("after Release: Valid %v, Deadline %v", l.Valid(), l.Deadline())
	}
	r.is("Err after Release", l.Err(), distlock.ErrReleased)
	r.is("the cause of its context's end", context.Cause(ctx), distlock.ErrReleased)
	for range 2 {
		r.is("a second Release", l.Release(r.ctx), distlock.ErrReleased)
	}
}

func releaseTogether(r *row) {
	c := r.lasting()
	l := r.try(c, r.key)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = l.Release(r.ctx) })
	}
	wg.Wait()
	nils := 0
	for _, err := range errs {
		if err == nil {
			nils++
		} else {
			r.is("one of several Releases at a time", err, distlock.ErrReleased)
		}
	}
	if nils != 1 {
		r.Errorf("%d of %d Releases at a time returned nil, want 1", nils, len(errs))
	}
}

func oldReleaseSparesLater(r *row) {
	c, other := r.lasting(), r.lasting()
	old := r.try(c, r.key)
	r.release(old)
	l := r.try(c, r.key)
	for range 3 {
		r.is("Release of an old lease", old.Release(r.ctx), distlock.ErrReleased)
		r.refused(other, r.key)
	}
	if l.Err() != nil {
		r.Errorf("the later lease ended: %v", l.Err())
	}
	r.release(l)
}

func releaseStopsRenewal(r *row) {
	var mu sync.Mutex
	released, after := false, 0
	c := r.short(distlock.WithTrace(&distlock.Trace{Renewed: func(i distlock.RenewInfo) {
		mu.Lock()
		defer mu.Unlock()
		if released && i.Key == r.key {
			after++
		}
	}}))
	other := r.short()
	l := r.acquire(c, r.key)
	r.throughout(r.h.TTL/2, func() error { return l.Err() })
	r.release(l)
	mu.Lock()
	released = true
	mu.Unlock()
	r.throughout(r.h.TTL, func() error {
		next, err := other.TryAcquire(r.within(r.patience()), r.key)
		if err != nil {
			return err
		}
		return next.Release(r.ctx)
	})
	mu.Lock()
	defer mu.Unlock()
	if after > 0 {
		r.Errorf("a released lease was renewed %d times", after)
	}
}
