package distlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// A release that has no answer holds up no waiter of the same client for
// longer than the server keeps the grant.
func TestHungReleaseDoesNotBlockTheLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b, distlock.WithTTL(time.Second))
		l := acquire(t, c, "k")
		b.SetHooks(memory.Hooks{Before: func(ctx context.Context, op memory.Op, _ string) error {
			if op == memory.Release {
				<-ctx.Done()
			}
			return ctx.Err()
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		released := make(chan error)
		go func() { released <- l.Release(ctx) }()
		time.Sleep(time.Millisecond)
		start := time.Now()
		next := acquire(t, c, "k")
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("the next grant came after %v, want one lifetime of 1s and a poll", took)
		}
		b.SetHooks(memory.Hooks{})
		if err := next.Release(t.Context()); err != nil {
			t.Error(err)
		}
		<-released
	})
}

// A session whose death is reported as soon as the core listens is not looked
// after any more.
func TestDeadOnArrival(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		c := newClient(t, deadOnArrival{v, new(int)})
		acquire(t, c, "k")
		start := time.Now()
		if err := c.Close(t.Context()); err != nil || time.Since(start) > time.Second {
			t.Errorf("Close took %v: %v", time.Since(start), err)
		}
	})
}

type deadOnArrival struct {
	*vault
	opened *int
}

func (d deadOnArrival) Open(ctx context.Context, t distlock.Terms) (distlock.Session, error) {
	s, err := d.vault.Open(ctx, t)
	*d.opened++
	if *d.opened == 1 {
		return deadSession{s.(*vaultSession)}, err
	}
	return s, err
}

type deadSession struct{ *vaultSession }

func (deadSession) NotifyLoss(lost func(distlock.Owner, error)) {
	lost(distlock.Owner{}, fmt.Errorf("expired before anybody listened"))
}

// A time-out of the backend's own that it marks as certain is not the caller's
// deadline.
func TestRefusedTimeoutIsNotTheCallersDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		b.SetHooks(memory.Hooks{Before: func(ctx context.Context, op memory.Op, _ string) error {
			if op != memory.Acquire {
				return nil
			}
			return distlock.Refused(fmt.Errorf("dial: %w", context.DeadlineExceeded))
		}})
		_, err := newClient(t, b).TryAcquire(context.Background(), "k")
		isNot(t, "TryAcquire", err, context.DeadlineExceeded)
	})
}
