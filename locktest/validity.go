package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
)

func deadlineBound(r *row) {
	c := r.short()
	terms := r.terms(r.h.TTL)
	for range 3 {
		l := r.acquire(c, r.key)
		r.throughout(r.h.TTL/2, func() error {
			d := l.Deadline()
			if left := time.Until(d); left > terms.TTL {
				return fmt.Errorf("%v are left of a TTL of %v", left, terms.TTL)
			}
			if !l.Valid() {
				return fmt.Errorf("the lease ended: %w", l.Err())
			}
			return nil
		})
		r.release(l)
	}
}

// terms are what the backend makes of ttl.
func (r *row) terms(ttl time.Duration) distlock.Terms {
	r.Helper()
	t, err := r.h.Backend(r).Check(distlock.Terms{TTL: ttl, LockDelay: distlock.UnsetLockDelay})
	if err != nil {
		r.Fatalf("Check: %v", err)
	}
	return t
}

func nextGrantAfterDeadline(r *row) {
	c := r.short()
	for i := range 3 {
		key := fmt.Sprint(r.key, "/", i)
		a, link := r.linked(r.h.TTL)
		l := r.acquire(a, key)
		until := time.Now().Add(time.Duration(i) * r.h.TTL / 4)
		r.eventually(r.h.TTL, "the moment of the cut", func() bool { return !time.Now().Before(until) })
		link.Swallow()
		next := r.got(r.wait(r.ctx, c, key), r.h.Expiry+pollEvery+slack)
		r.superseded(l, next)
		select {
		case <-l.Done():
		default:
			r.Error("Done of a holder that was cut off is open when the next one has the key")
		}
		r.is("Err of a holder that was cut off", l.Err(), distlock.ErrLost)
		larger(r, l.Token(), next.lease)
		r.release(next.lease)
		r.is("its Release", l.Release(r.ctx), distlock.ErrLost)
	}
}

// superseded checks that next was not granted before the deadline of l.
func (r *row) superseded(l *distlock.Lease, next result) {
	r.Helper()
	if early := l.Deadline().Sub(next.at); early > 0 {
		r.Errorf("the next grant came %v before the holder's deadline", early)
	}
	if l.Valid() {
		r.Error("a lease is valid while the next holder has the key")
	}
}

func renewed(r *row) {
	c, other := r.short(), r.short()
	l := r.acquire(c, r.key)
	r.throughout(r.h.TTL*3, func() error {
		r.refused(other, r.key)
		if !l.Valid() {
			return fmt.Errorf("a lease that is renewed ended: %w", l.Err())
		}
		return nil
	})
	if left := time.Until(l.Deadline()); left <= 0 {
		r.Errorf("the deadline of a valid lease passed %v ago", -left)
	}
	r.release(l)
	r.release(r.try(other, r.key))
}

func outlivesContext(r *row) {
	c, other := r.short(), r.short()
	for name, f := range acquirers(c) {
		key := r.key + "/" + name
		ctx, cancel := context.WithTimeout(r.ctx, r.patience())
		l, err := f(ctx, key)
		cancel()
		if err != nil {
			r.Fatalf("%s: %v", name, err)
		}
		r.throughout(r.h.TTL*3/2, func() error {
			r.refused(other, key)
			return l.Err()
		})
		r.release(l)
	}
}

func withoutRenewal(r *row) {
	c, other := r.short(), r.short()
	start := time.Now()
	l := r.acquire(c, r.key, distlock.WithoutRenewal())
	ctx := l.Context(r.ctx)
	results := r.wait(r.ctx, other, r.key)
	r.ends(l, r.terms(r.h.TTL).TTL+slack)
	if took, ttl := time.Since(start), r.terms(r.h.TTL).TTL; took > ttl+slack {
		r.Errorf("a lease without renewal lasted %v, its TTL is %v", took, ttl)
	}
	r.is("the cause of its context's end", context.Cause(ctx), distlock.ErrLost)
	next := r.got(results, r.h.Expiry+pollEvery+slack)
	r.superseded(l, next)
	larger(r, l.Token(), next.lease)
	r.is("its Release", l.Release(r.ctx), distlock.ErrLost)
	r.release(next.lease)
}

func maxHold(r *row) {
	c, other := r.short(), r.short()
	hold := r.terms(r.h.TTL).TTL * 2
	l := r.acquire(c, r.key, distlock.WithMaxHold(hold))
	granted := time.Now()
	results := r.wait(r.ctx, other, r.key)
	r.throughout(hold*3/4, func() error {
		if d := l.Deadline(); d.After(granted.Add(hold)) {
			return fmt.Errorf("the deadline is %v after the grant, max-hold is %v", d.Sub(granted), hold)
		}
		return l.Err()
	})
	r.ends(l, hold/4+slack)
	next := r.got(results, r.h.Expiry+pollEvery+slack)
	r.superseded(l, next)
	r.release(next.lease)
}

func lossSignals(r *row) {
	lost := make(chan distlock.LostInfo, 10)
	c := r.short(distlock.WithTrace(&distlock.Trace{Lost: func(i distlock.LostInfo) { lost <- i }}))
	l := r.acquire(c, r.key, distlock.WithoutRenewal())
	ctx := l.Context(r.ctx)
	r.ends(l, r.h.Expiry+slack)
	select {
	case <-ctx.Done():
	case <-time.After(slack):
		r.Error("the lease's context has not ended with it")
	}
	r.is("the cause of its end", context.Cause(ctx), distlock.ErrLost, l.Err())
	for range 3 {
		if err := l.Release(r.ctx); err != l.Err() {
			r.Errorf("Release after a loss: got %v, want what Err says: %v", err, l.Err())
		}
	}
	var e *distlock.Error
	if !errors.As(l.Err(), &e) || e.Op != "hold" || e.Key != r.key || e.Backend != r.info.Name {
		r.Errorf("Err is %#v, want an *Error of op hold with backend and key", l.Err())
	}
	if err := c.Close(r.within(r.patience())); err != nil {
		r.Errorf("Close: %v", err)
	}
	if n := len(lost); n != 1 {
		r.Fatalf("Trace.Lost was called %d times for one loss", n)
	}
	if i := <-lost; i.Key != r.key || i.Backend != r.info.Name || i.Token != l.Token() || i.Err != l.Err() {
		r.Errorf("Trace.Lost got %+v", i)
	}
}
