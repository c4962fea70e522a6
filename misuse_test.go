package distlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// What cannot mean anything is an error, never a panic.
func TestMisuse(t *testing.T) {
	var nowhere *memory.Backend
	_, err := distlock.New(nowhere)
	is(t, "New on a nil *Backend", err, distlock.ErrInvalid)
	_, err = distlock.New(nil)
	is(t, "New on nil", err, distlock.ErrInvalid)
	_, err = distlock.New(memory.New(), distlock.RequireFencing(distlock.FencingDurable+1))
	is(t, "New with an unknown fencing level", err, distlock.ErrInvalid)

	b := memory.New()
	err = distlock.Do(t.Context(), newClient(t, b), "k", nil)
	is(t, "Do without a function", err, distlock.ErrInvalid)
	if n := b.Len(); n != 0 {
		t.Errorf("%d keys are held", n)
	}
}

// A lease that its max-hold has ended before it is granted is not handed over.
func TestMaxHoldShorterThanTheRoundTrip(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		b.SetHooks(memory.Hooks{After: func(context.Context, memory.Op, string) error {
			time.Sleep(time.Second) // the bubble's
			return nil
		}})
		l, err := newClient(t, b).TryAcquire(t.Context(), "k", distlock.WithMaxHold(time.Millisecond))
		if err == nil || l != nil {
			t.Fatalf("got a lease that is valid: %v", l.Valid())
		}
	})
}

// A release that is deferred before the error was looked at.
func TestReleaseOfNoLease(t *testing.T) {
	for _, l := range []*distlock.Lease{nil, {}} {
		is(t, "Release", l.Release(t.Context()), distlock.ErrInvalid)
	}
}
