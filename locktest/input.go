package locktest

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
)

func invalidKeys(r *row) {
	r.silent("a bad key", func(c *distlock.Client) {
		for what, key := range map[string]string{
			"empty": "", "513 bytes": strings.Repeat("k", 513), "NUL": "a\x00b", "not UTF-8": "a\xff",
		} {
			for name, f := range acquirers(c) {
				l, err := f(r.within(r.patience()), key)
				if l != nil {
					r.Errorf("%s of a key that is %s: got a lease", name, what)
				}
				r.is(name+" of a key that is "+what, err, distlock.ErrInvalid)
			}
		}
	})
}

func invalidOptions(r *row) {
	bad := map[string]distlock.Option{
		"TTL 0":            distlock.WithTTL(0),
		"a negative TTL":   distlock.WithTTL(-time.Second),
		"a TTL of 1 ns":    distlock.WithTTL(1),
		"an endless TTL":   distlock.WithTTL(math.MaxInt64),
		"a negative delay": distlock.WithLockDelay(-1),
		"an endless delay": distlock.WithLockDelay(math.MaxInt64),
		"max-hold 0":       distlock.WithMaxHold(0),
		"a bad holder":     distlock.WithHolder("a\nb"),
		"a zero option":    {},
	}
	r.silent("a bad option", func(c *distlock.Client) {
		for what, o := range bad {
			_, err := c.Acquire(r.within(r.patience()), r.key, o)
			r.is("Acquire with "+what, err, distlock.ErrInvalid)
			_, err = distlock.New(r.h.Backend(r), distlock.WithTTL(r.h.TTL), o)
			r.is("New with "+what, err, distlock.ErrInvalid)
		}
		for _, o := range []distlock.Option{distlock.WithTrace(nil), distlock.RequireFencing(distlock.FencingNone)} {
			_, err := c.TryAcquire(r.within(r.patience()), r.key, o)
			r.is("TryAcquire with an option for New", err, distlock.ErrInvalid)
		}
	})
}

func checkContract(r *row) {
	b := r.h.Backend(r)
	for _, ttl := range []time.Duration{r.h.TTL, r.h.TTL + 1, r.h.TTL*3/2 + time.Millisecond, r.long()} {
		for _, delay := range []time.Duration{distlock.UnsetLockDelay, 0, r.h.LockDelay} {
			asked := distlock.Terms{TTL: ttl, LockDelay: delay}
			t, err := b.Check(asked)
			if err != nil {
				r.Errorf("Check of %+v: %v", asked, err)
				continue
			}
			if t.TTL < ttl || t.LockDelay < max(delay, 0) {
				r.Errorf("Check of %+v: got %+v, want no less", asked, t)
			}
			if again, err := b.Check(t); again != t || err != nil {
				r.Errorf("Check of %+v, which it returned: got %+v, %v", t, again, err)
			}
		}
	}
	for _, ttl := range []time.Duration{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		_, err := b.Check(distlock.Terms{TTL: ttl, LockDelay: distlock.UnsetLockDelay})
		r.is("Check of TTL "+ttl.String(), err, distlock.ErrInvalid)
	}
	_, err := b.Check(distlock.Terms{TTL: r.h.TTL, LockDelay: math.MaxInt64})
	r.is("Check of an endless lock-delay", err, distlock.ErrInvalid)
}

func ownTerms(r *row) {
	c, other := r.lasting(), r.lasting()
	l := r.acquire(c, r.key, distlock.WithTTL(r.h.TTL), distlock.WithHolder("locktest ü"))
	ttl := r.terms(r.h.TTL).TTL
	if left := time.Until(l.Deadline()); left > ttl {
		r.Errorf("a call's own TTL is %v, %v are left", ttl, left)
	}
	r.throughout(r.h.TTL*3/2, func() error {
		r.refused(other, r.key)
		return l.Err()
	})
	r.release(l)
	r.release(r.try(other, r.key))
}

func wrappedErrors(r *row) {
	a, b := r.lasting(), r.lasting()
	l := r.try(a, r.key)
	ended, cancel := context.WithCancel(r.ctx)
	cancel()
	_, held := b.TryAcquire(r.within(r.patience()), r.key)
	_, waited := b.Acquire(r.within(slack), r.key)
	_, cancelled := b.Acquire(ended, r.key)
	_, invalid := b.Acquire(r.within(r.patience()), r.key, distlock.WithTTL(0))
	r.release(l)
	for _, test := range []struct {
		err, want error
		op        string
	}{
		{held, distlock.ErrHeld, "acquire"},
		{waited, distlock.ErrHeld, "acquire"},
		{waited, context.DeadlineExceeded, "acquire"},
		{cancelled, context.Canceled, "acquire"},
		{invalid, distlock.ErrInvalid, "acquire"},
		{l.Release(r.ctx), distlock.ErrReleased, "release"},
	} {
		var e *distlock.Error
		if !errors.Is(test.err, test.want) || !errors.As(test.err, &e) {
			r.Errorf("got %v, want an *Error that matches %v", test.err, test.want)
			continue
		}
		if e.Op != test.op || e.Backend != r.info.Name || e.Key != r.key || errors.As(e.Err, new(*distlock.Error)) {
			r.Errorf("got %#v, want op %q, backend %q, key %q, wrapped once", e, test.op, r.info.Name, r.key)
		}
		if text := e.Error(); !strings.HasPrefix(text, "distlock: "+test.op) || !strings.Contains(text, r.key) {
			r.Errorf("the error reads %q", text)
		}
	}
}
