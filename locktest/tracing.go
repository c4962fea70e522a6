package locktest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/distlock-go/distlock"
)

// events collects what a Trace is told.
type events struct {
	mu        sync.Mutex // guards all below
	acquired  []distlock.AcquireInfo
	attempted []distlock.AttemptInfo
	renewed   []distlock.RenewInfo
	released  []distlock.ReleaseInfo
	lost      []distlock.LostInfo
}

func (e *events) trace() *distlock.Trace {
	return &distlock.Trace{
		Acquired:  func(_ context.Context, i distlock.AcquireInfo) { note(e, &e.acquired, i) },
		Attempted: func(_ context.Context, i distlock.AttemptInfo) { note(e, &e.attempted, i) },
		Renewed:   func(i distlock.RenewInfo) { note(e, &e.renewed, i) },
		Released:  func(_ context.Context, i distlock.ReleaseInfo) { note(e, &e.released, i) },
		Lost:      func(i distlock.LostInfo) { note(e, &e.lost, i) },
	}
}

func note[T any](e *events, list *[]T, i T) {
	e.mu.Lock()
	*list = append(*list, i)
	e.mu.Unlock()
}

func coherentTrace(r *row) {
	var e events
	c, other := r.short(distlock.WithTrace(e.trace())), r.lasting()
	var want []error // of each acquire
	l := r.acquire(c, r.key)
	want = append(want, nil)
	token := l.Token()
	r.throughout(r.h.TTL, func() error { return l.Err() })
	r.release(l)
	l.Release(r.ctx)
	held := r.acquire(other, r.key)
	_, err := c.TryAcquire(r.within(r.patience()), r.key)
	want = append(want, err)
	_, err = c.Acquire(r.within(slack/2), r.key)
	want = append(want, err)
	r.release(held)
	l = r.acquire(c, r.key, distlock.WithoutRenewal())
	want = append(want, nil)
	r.ends(l, r.h.Expiry+slack)
	if err := c.Close(r.within(r.patience())); err != nil {
		r.Errorf("Close: %v", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.checkAcquired(r, want)
	if len(e.renewed) == 0 || slices.ContainsFunc(e.renewed, func(i distlock.RenewInfo) bool { return i.Err != nil }) {
		r.Errorf("renewals over one TTL: %+v", e.renewed)
	}
	if n := len(e.released); n != 2 || e.released[0].Err != nil || e.released[0].Token != token ||
		!errors.Is(e.released[1].Err, distlock.ErrReleased) {
		r.Errorf("releases: %+v", e.released)
	}
	if len(e.lost) != 1 || e.lost[0].Err != l.Err() || e.lost[0].Token != l.Token() {
		r.Errorf("losses: %+v", e.lost)
	}
}

// checkAcquired checks the reports of calls that returned want, and of their
// attempts. e.mu is held.
func (e *events) checkAcquired(r *row, want []error) {
	r.Helper()
	if len(e.acquired) != len(want) {
		r.Fatalf("%d calls, %d reports", len(want), len(e.acquired))
	}
	attempts := 0
	for i, a := range e.acquired {
		if a.Err != want[i] || a.Key != r.key || a.Backend != r.info.Name || a.Duration < 0 ||
			(a.Err == nil && r.fenced()) != (a.Token != 0) {
			r.Errorf("call %d returned %v: %+v", i, want[i], a)
		}
		for n := range a.Attempts {
			if attempts == len(e.attempted) {
				r.Fatalf("call %d reports %d attempts, seen in all: %d", i, a.Attempts, attempts)
			}
			t := e.attempted[attempts]
			if t.Number != n+1 || t.Key != r.key || t.Backend != r.info.Name || n+1 < a.Attempts && (t.Err == nil || !t.Retry) {
				r.Errorf("call %d, attempt %d: %+v", i, n, t)
			}
			attempts++
		}
	}
	if attempts != len(e.attempted) {
		r.Errorf("the calls report %d attempts, seen in all: %d", attempts, len(e.attempted))
	}
}
