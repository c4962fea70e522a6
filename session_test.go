package distlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

func TestSessionIsSharedAndRenewedAsAWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c := newClient(t, v)
		for _, key := range []string{"a", "b", "c", "d"} {
			acquire(t, c, key)
		}
		time.Sleep(time.Hour - time.Second)
		if n := v.count("open"); n != 1 {
			t.Errorf("%d sessions, want 1", n)
		}
		if n := v.count("keepalive"); n < 350 || n > 370 {
			t.Errorf("%d renewals in an hour, want one in 10s", n)
		}
	})
}

// Validity is the session's: send time of its last confirmed renewal, the
// lifetime the server answered if that is smaller, less delay and drift. A
// smaller one is renewed sooner.
func TestDeadlineOfASession(t *testing.T) {
	const ttl = 30 * time.Second
	for _, test := range []struct {
		name        string
		life, delay time.Duration
		good        time.Duration // what a renewal is good for, before drift
	}{
		{"as asked", 0, 0, ttl},
		{"shorter", 21 * time.Second, 0, 21 * time.Second},
		{"longer", time.Minute, 0, ttl},
		{"lock-delay", 0, 10 * time.Second, ttl},
		{"lock-delay and shorter", 34 * time.Second, 10 * time.Second, 24 * time.Second},
	} {
		bubbleIn(t, test.name, func(t *testing.T) {
			v := newVault()
			v.life = test.life
			v.onOpen = func(context.Context) error { time.Sleep(2 * time.Second); return nil }
			c := newClient(t, v, distlock.WithTTL(ttl), distlock.WithLockDelay(test.delay))
			want := test.good - test.good/100 - 2*time.Millisecond
			sent := time.Now()
			l := acquire(t, c, "k")
			if d := l.Deadline().Sub(sent); d != want {
				t.Errorf("deadline is %v after the opening was sent, want %v", d, want)
			}
			time.Sleep(time.Second)
			if d := acquire(t, c, "other").Deadline().Sub(sent); d != want {
				t.Errorf("a grant has moved the deadline to %v, want %v", d, want)
			}
			v.set(func() {
				v.onKeepAlive = func(context.Context) error { time.Sleep(3 * time.Second); return nil }
			})
			time.Sleep(test.good/3 + time.Second)
			if d := l.Deadline().Sub(sent); d != want+test.good/3 {
				t.Errorf("deadline is %v after a renewal sent at %v, want %v", d, test.good/3, want+test.good/3)
			}
		})
	}
}

// A grant on a session with under a quarter of its TTL left waits for a
// renewal.
func TestGrantWaitsForAFreshSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c := newClient(t, v, distlock.WithTTL(12*time.Second))
		first := acquire(t, c, "first")
		v.set(func() { v.onKeepAlive = netDown })
		time.Sleep(9500 * time.Millisecond)
		if !first.Valid() {
			t.Fatal("lost already: the test shows nothing")
		}
		time.AfterFunc(time.Second, func() { v.set(func() { v.onKeepAlive = nil }) })
		start := time.Now()
		l := acquire(t, c, "k")
		if d := time.Since(start); d < time.Second {
			t.Errorf("handed over after %v, before the renewal", d)
		}
		if left := time.Until(l.Deadline()); left < 3*time.Second {
			t.Errorf("handed over with %v left", left)
		}
	})
}

// The session grows old while the grant is on its way.
func TestSlowGrantWaitsForAFreshSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		v.onKeepAlive = netDown
		v.onAnswer = func(context.Context) error { time.Sleep(9500 * time.Millisecond); return nil }
		c := newClient(t, v, distlock.WithTTL(12*time.Second))
		time.AfterFunc(10*time.Second, func() { v.set(func() { v.onKeepAlive = nil }) })
		l := acquire(t, c, "k")
		if left := time.Until(l.Deadline()); left < 3*time.Second {
			t.Errorf("handed over with %v left", left)
		}
	})
}

func TestOpeningOfASessionThatGoesWrong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c := newClient(t, v)
		v.set(func() { v.onOpen = netDown })
		_, err := c.Acquire(t.Context(), "k")
		is(t, "Acquire, opening fails", err, errNet)

		v.set(func() { v.onOpen = hang })
		start := time.Now()
		_, err = c.Acquire(t.Context(), "k")
		isNot(t, "Acquire, opening hangs", err, nil, context.DeadlineExceeded)
		if d := time.Since(start); d != distlock.OpenBound {
			t.Errorf("took %v, want %v", d, distlock.OpenBound)
		}

		start = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.Acquire(ctx, "k")
		is(t, "Acquire, ctx ends", err, context.DeadlineExceeded)
		if d := time.Since(start); d != time.Second {
			t.Errorf("took %v, want 1s", d)
		}
		v.set(func() { v.onOpen = func(context.Context) error { time.Sleep(time.Minute); return nil } })
		time.Sleep(10 * time.Second)
		_, err = c.Acquire(t.Context(), "k")
		isNot(t, "Acquire, opened too late", err, nil)
		if n := len(v.open()); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
		v.set(func() { v.onOpen = nil })
		acquire(t, c, "k")
	})
}

func TestSessionsOfOneClientAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c := newClient(t, v)
		for i := range distlock.MaxSessions {
			acquire(t, c, "k", distlock.WithTTL(time.Duration(i+10)*time.Second)).Release(t.Context())
		}
		_, err := c.TryAcquire(t.Context(), "k", distlock.WithTTL(time.Minute))
		is(t, "one more", err, distlock.ErrInvalid)
		acquire(t, c, "k", distlock.WithTTL(10*time.Second)).Release(t.Context())
		time.Sleep(27 * time.Second) // idle ones end after one TTL
		if n := len(v.open()); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
		acquire(t, c, "k", distlock.WithTTL(time.Minute))
	})
}

func TestSessionInUseIsNotIdle(t *testing.T) {
	for _, fair := range []bool{false, true} {
		bubbleIn(t, map[bool]string{false: "held", true: "waiting"}[fair], func(t *testing.T) {
			v := newVault()
			v.fair = fair
			c, other := newClient(t, v), newClient(t, v)
			l := acquire(t, other, "k")
			got := make(chan *distlock.Lease, 1)
			go func() { got <- acquire(t, c, "k") }()
			time.Sleep(time.Hour)
			if n := v.count("open"); n != 2 {
				t.Errorf("%d sessions were opened, want 2", n)
			}
			is(t, "Release", l.Release(t.Context()), nil)
			is(t, "Release", (<-got).Release(t.Context()), nil)
			time.Sleep(31 * time.Second)
			if n := len(v.open()); n != 0 {
				t.Errorf("%d idle sessions are left", n)
			}
		})
	}
}

// notifier is a session of grants that live by themselves, and claims to hear
// of losses.
type notifier struct {
	memorySession
	told *atomic.Bool
}

func (n notifier) NotifyLoss(func(distlock.Owner, error)) { n.told.Store(true) }

// wrongKind is a backend whose sessions are not what Info says.
type wrongKind struct{ *vault }

func (w wrongKind) Info() distlock.Info {
	i := w.vault.Info()
	i.SessionPerTerms = false
	return i
}

func TestSessionsOfTheWrongKind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told atomic.Bool
		b := tweak{memory.New(), func(s memorySession) distlock.Session { return notifier{s, &told} }}
		acquire(t, newClient(t, b), "k")
		if told.Load() {
			t.Error("NotifyLoss was called on a session that is no Keeper")
		}
		v := newVault()
		_, err := newClient(t, wrongKind{v}).TryAcquire(t.Context(), "k")
		if err == nil || errors.Is(err, distlock.ErrHeld) || len(v.open()) != 0 {
			t.Errorf("got %v, %d sessions open", err, len(v.open()))
		}
	})
}
