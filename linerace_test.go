package distlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// A TryAcquire that was under way when a line formed may be granted while the
// line's head judges its own attempt: what is the head's own is left to it. The
// race detector is what sees it.
func TestTryAcquireBesideALine(t *testing.T) {
	t.Parallel()
	b := memory.New()
	granted := make(chan struct{})
	c := newClient(t, b, distlock.WithTrace(&distlock.Trace{
		Attempted: func(_ context.Context, i distlock.AttemptInfo) {
			if errors.Is(i.Err, distlock.ErrHeld) {
				<-granted // the head has judged, and has not yet gone on
			}
		},
	}))
	first := make(chan struct{}, 1)
	first <- struct{}{}
	began := make(chan struct{})
	b.SetHooks(memory.Hooks{After: on(memory.Acquire, func(context.Context) error {
		select {
		case <-first:
			close(began)
			time.Sleep(100 * time.Millisecond) // not a wait for the head, which would order the two
		default:
		}
		return nil
	})})
	leases := make(chan *distlock.Lease, 1)
	go func() {
		l, err := c.TryAcquire(t.Context(), "k")
		if err != nil {
			t.Error(err)
		}
		close(granted)
		leases <- l
	}()
	<-began
	ended := make(chan error, 1)
	go func() {
		l, err := c.Acquire(t.Context(), "k")
		if err == nil {
			err = l.Release(t.Context())
		}
		ended <- err
	}()
	if l := <-leases; l != nil {
		if err := l.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
