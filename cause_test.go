package distlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// The cause of a caller's ctx can match any of our sentinels: errgroup ends its
// ctx with the first error of a sibling. It is never the service's word.
func TestForeignCauseIsNotTheServicesWord(t *testing.T) {
	for _, cause := range []error{distlock.ErrHeld, distlock.ErrLost, distlock.ErrInvalid, fmt.Errorf("x: %w", distlock.ErrHeld)} {
		bubbleIn(t, cause.Error(), func(t *testing.T) {
			v := newVault()
			c := newClient(t, v)
			bystander := acquire(t, c, "bystander")
			ctx, cancel := context.WithCancelCause(t.Context())
			v.set(func() {
				v.onAnswer = func(ctx context.Context) error { // granted, and the answer is lost with ctx
					<-ctx.Done()
					return context.Cause(ctx)
				}
			})
			time.AfterFunc(time.Second, func() { cancel(cause) })
			_, err := c.Acquire(ctx, "k")
			is(t, "Acquire", err, context.Canceled)
			v.set(func() { v.onAnswer = nil })
			time.Sleep(time.Second)
			if _, err := c.TryAcquire(t.Context(), "k"); err != nil {
				t.Errorf("the key is not free a second later: %v", err)
			}
			if !bystander.Valid() {
				t.Errorf("a lease that had nothing to do with it was lost: %v", bystander.Err())
			}
		})
	}
}

// The same while the session is being opened.
func TestForeignCauseWhileOpening(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		v.onOpen = func(context.Context) error { time.Sleep(5 * time.Second); return nil }
		c := newClient(t, v)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(distlock.ErrHeld) })
		_, err := c.Acquire(ctx, "k")
		is(t, "Acquire", err, context.Canceled)
	})
}

// In an outage all waiters of a key give up together, not one TTL after the
// other.
func TestOutageEndsAllWaitsTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		other := newClient(t, b)
		acquire(t, other, "k")
		c := newClient(t, b, distlock.WithTTL(30*time.Second))
		start := time.Now()
		ends := make(chan error, 4)
		for range cap(ends) {
			go func() {
				_, err := c.Acquire(t.Context(), "k")
				ends <- err
			}()
		}
		time.Sleep(time.Second)
		down := errors.New("connection refused")
		b.SetHooks(memory.Hooks{Before: func(context.Context, memory.Op, string) error { return distlock.Refused(down) }})
		for range cap(ends) {
			is(t, "Acquire", <-ends, down)
		}
		if took := time.Since(start); took > 40*time.Second {
			t.Errorf("the last waiter gave up after %v, want one TTL of 30s", took)
		}
		b.SetHooks(memory.Hooks{})
	})
}

// A call whose ctx ends in an outage tells of the outage.
func TestEndOfAWaitTellsTheOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		acquire(t, newClient(t, b), "k")
		down := errors.New("connection refused")
		c := newClient(t, b)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		time.AfterFunc(2*time.Second, func() {
			b.SetHooks(memory.Hooks{Before: func(context.Context, memory.Op, string) error { return distlock.Refused(down) }})
		})
		_, err := c.Acquire(ctx, "k")
		is(t, "Acquire", err, distlock.ErrHeld)
		is(t, "Acquire", err, context.DeadlineExceeded)
		is(t, "Acquire", err, down)
		b.SetHooks(memory.Hooks{})
	})
}

// Sessions that die as soon as they are opened are an outage like another.
func TestSessionsThatKeepDyingEndTheWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		v := newVault()
		v.onTry = func(context.Context) error { return distlock.ErrLost }
		c := newClient(t, v, distlock.WithTTL(30*time.Second))
		start := time.Now()
		_, err := c.Acquire(t.Context(), "k")
		if err == nil || errors.Is(err, distlock.ErrHeld) || time.Since(start) > 35*time.Second {
			t.Errorf("after %v: %v; want an error other than ErrHeld after one TTL of 30s", time.Since(start), err)
		}
	})
}

// An owner id prints as nothing that could be used.
func TestOwnerIsHidden(t *testing.T) {
	o := distlock.NewOwner()
	encoded, err := json.Marshal(map[string]any{"owner": o})
	if err != nil {
		t.Fatal(err)
	}
	text := string(encoded)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		text += fmt.Sprintf(verb, o) + fmt.Sprintf(verb, distlock.Hold{Owner: o})
	}
	if strings.Contains(text, o.Text()) || strings.Contains(text, fmt.Sprint([]byte(o[:]))) || strings.Count(text, "hidden") != 15 {
		t.Errorf("shown: %s", text)
	}
}
