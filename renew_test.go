package distlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

func TestLeaseIsRenewedForAsLongAsItIsHeld(t *testing.T) {
	for name, b := range map[string]distlock.Backend{"grants": memory.New(), "session": newVault()} {
		bubbleIn(t, name, func(t *testing.T) {
			c := newClient(t, b)
			ctx, cancel := context.WithCancel(t.Context())
			l, err := c.Acquire(ctx, "k")
			is(t, "Acquire", err, nil)
			cancel() // it governed the wait only
			token := l.Token()
			time.Sleep(24 * time.Hour)
			is(t, "Err", l.Err(), nil)
			if left := time.Until(l.Deadline()); !l.Valid() || left < 19*time.Second || left > 30*time.Second {
				t.Errorf("valid: %v, %v left", l.Valid(), left)
			}
			if l.Token() != token {
				t.Error("the token has changed")
			}
			is(t, "Release", l.Release(t.Context()), nil)
		})
	}
}

// Transport errors are retried until the deadline, and no later.
func TestRenewalThatFails(t *testing.T) {
	for _, test := range []struct {
		name string
		hook func(context.Context) error
	}{{"error", netDown}, {"hang", hang}} {
		bubbleIn(t, test.name, func(t *testing.T) {
			b := memory.New()
			calls := count(b, memory.Hooks{Before: on(memory.Renew, test.hook)})
			c := newClient(t, b)
			start := time.Now()
			l := acquire(t, c, "k")
			deadline := l.Deadline()
			ctx := l.Context(t.Context())
			<-l.Done()
			if d := time.Since(start); d > deadline.Sub(start) || d < 29*time.Second {
				t.Errorf("lost after %v, deadline was after %v", d, deadline.Sub(start))
			}
			is(t, "Err", l.Err(), distlock.ErrLost)
			isNot(t, "Err", l.Err(), context.DeadlineExceeded)
			<-ctx.Done()
			if context.Cause(ctx) != l.Err() {
				t.Errorf("cause is %v, want %v", context.Cause(ctx), l.Err())
			}
			if n := calls.of(memory.Renew); n < 2 {
				t.Errorf("%d renewals were tried, want several", n)
			}
			b.SetHooks(memory.Hooks{})
			time.Sleep(12 * time.Second) // the hung one, cut short, and then the clean-up
			if b.Len() != 0 {
				t.Error("what was left is not deleted")
			}
		})
	}
}

func TestRenewalIsRetriedInTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		l := acquire(t, c, "k")
		time.Sleep(9 * time.Second)
		b.SetHooks(memory.Hooks{Before: on(memory.Renew, netDown)})
		time.Sleep(18 * time.Second)
		b.SetHooks(memory.Hooks{})
		time.Sleep(time.Hour)
		is(t, "Err", l.Err(), nil)
	})
}

// A renewal that was carried out although its reply was lost is no loss.
func TestLostReplyOfARenewalIsNoLoss(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		n := 0
		b.SetHooks(memory.Hooks{After: on(memory.Renew, func(context.Context) error {
			if n++; n%2 == 1 {
				return errNet
			}
			return nil
		})})
		c := newClient(t, b)
		l := acquire(t, c, "k")
		time.Sleep(time.Hour)
		is(t, "Err", l.Err(), nil)
	})
}

func TestDefiniteLossIsToldAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c, other := newClient(t, b), newClient(t, b)
		l := acquire(t, c, "k")
		time.Sleep(time.Second)
		b.Expire("k")
		later := acquire(t, other, "k")
		<-l.Done()
		is(t, "Err", l.Err(), distlock.ErrLost)
		is(t, "Release", l.Release(t.Context()), distlock.ErrLost)
		time.Sleep(time.Hour)
		is(t, "Err of the later lease", later.Err(), nil)
	})
}

// lateAnswer holds answers of renewals back, whatever becomes of the context.
type lateAnswer struct {
	memorySession
	delay time.Duration
}

func (s lateAnswer) Renew(_ context.Context, holds []distlock.Hold) []error {
	errs := s.memorySession.Renew(context.Background(), holds)
	time.Sleep(s.delay)
	return errs
}

func TestLateAnswerRevivesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := tweak{memory.New(), func(s memorySession) distlock.Session { return lateAnswer{s, 25 * time.Second} }}
		c := newClient(t, b)
		l := acquire(t, c, "k")
		<-l.Done()
		lostAt := l.Deadline()
		time.Sleep(10 * time.Second)
		is(t, "Err", l.Err(), distlock.ErrLost)
		if l.Valid() || l.Deadline().After(lostAt) {
			t.Error("a late answer has moved the deadline of a lost lease")
		}
		time.Sleep(10 * time.Second)
		if b.Len() != 0 {
			t.Error("what the late renewal extended was not deleted")
		}
	})
}

// Validity counts from before the renewal was sent, not from its answer.
func TestDeadlineOfASlowRenewal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := tweak{memory.New(), func(s memorySession) distlock.Session { return lateAnswer{s, 9 * time.Second} }}
		c := newClient(t, b)
		start := time.Now()
		l := acquire(t, c, "k")
		time.Sleep(20 * time.Second)
		if sent := start.Add(10 * time.Second); l.Deadline().After(sent.Add(30 * time.Second)) {
			t.Errorf("deadline is %v after the renewal was sent", l.Deadline().Sub(sent))
		}
		is(t, "Err", l.Err(), nil)
	})
}

// short answers one renewal too few.
type short struct{ memorySession }

func (s short) Renew(ctx context.Context, holds []distlock.Hold) []error {
	return s.memorySession.Renew(ctx, holds)[1:]
}

func TestWrongNumberOfResultsRenewsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := tweak{memory.New(), func(s memorySession) distlock.Session { return short{s} }}
		c := newClient(t, b)
		a, z := acquire(t, c, "a"), acquire(t, c, "z")
		time.Sleep(30 * time.Second)
		is(t, "Err", a.Err(), distlock.ErrLost)
		is(t, "Err", z.Err(), distlock.ErrLost)
	})
}

// batch records the sizes of batches and whether one was overdue.
type batch struct {
	memorySession
	mu    *sync.Mutex
	sizes *[]int
}

func (s batch) Renew(ctx context.Context, holds []distlock.Hold) []error {
	s.mu.Lock()
	*s.sizes = append(*s.sizes, len(holds))
	s.mu.Unlock()
	return s.memorySession.Renew(ctx, holds)
}

func TestRenewalsDueCloseToEachOtherGoTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var sizes []int
		b := tweak{memory.New(), func(s memorySession) distlock.Session { return batch{s, &mu, &sizes} }}
		c := newClient(t, b)
		for _, key := range []string{"a", "b", "c", "d"} {
			acquire(t, c, key)
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(35 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		for _, n := range sizes {
			if n != 4 {
				t.Errorf("a batch of %d, want all 4 together: %v", n, sizes)
			}
		}
		if len(sizes) != 3 {
			t.Errorf("%d batches, want 3", len(sizes))
		}
	})
}

// Leases that are hung in one batch do not hold up those in others, and the
// hung call is cut short in time for another try.
func TestHungBatchIsCutShort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		l := acquire(t, c, "hung")
		time.Sleep(5 * time.Second)
		other := acquire(t, c, "other")
		first := true
		b.SetHooks(memory.Hooks{Before: func(ctx context.Context, op memory.Op, key string) error {
			if op == memory.Renew && key == "hung" && first {
				first = false
				start := time.Now()
				<-ctx.Done()
				if d := time.Since(start); d > 10*time.Second {
					t.Errorf("cut short after %v, want a third of the TTL", d)
				}
				return ctx.Err()
			}
			return nil
		}})
		time.Sleep(time.Hour)
		is(t, "Err", l.Err(), nil)
		is(t, "Err", other.Err(), nil)
	})
}
