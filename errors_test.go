package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

func TestErrorText(t *testing.T) {
	for want, err := range map[string]error{
		`distlock: acquire "invoice/42" (redis): held by another owner`: &distlock.Error{
			Op: "acquire", Backend: "redis", Key: "invoice/42", Err: distlock.ErrHeld,
		},
		`distlock: acquire "a\nb" (redis): EOF`:       &distlock.Error{Op: "acquire", Backend: "redis", Key: "a\nb", Err: io.EOF},
		`distlock: close (etcd): EOF`:                 &distlock.Error{Op: "close", Backend: "etcd", Err: io.EOF},
		`invalid argument: TTL is 1s, must be longer`: distlock.Invalid("TTL", time.Second, "longer"),
		`EOF`:                   distlock.Refused(io.EOF),
		`held by another owner`: distlock.Held(time.Second),
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	if distlock.Refused(nil) != nil {
		t.Error("Refused(nil) is not nil")
	}
}

func TestEveryErrorIsWrappedOnceAndMatchesItsCause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		c := newClient(t, b)
		cause := fmt.Errorf("dial: %w", &fs.PathError{Op: "connect", Path: "host", Err: io.ErrUnexpectedEOF})
		for name, err := range map[string]error{
			"plain": cause, "refused": distlock.Refused(cause),
			"with a time-out": errors.Join(context.DeadlineExceeded, cause),
		} {
			b.SetHooks(memory.Hooks{Before: on(memory.Acquire, func(context.Context) error { return err })})
			_, got := c.TryAcquire(t.Context(), "k")
			is(t, name, got, io.ErrUnexpectedEOF)
			isNot(t, name, got, context.DeadlineExceeded, distlock.ErrHeld)
			var e *distlock.Error
			var p *fs.PathError
			if !errors.As(got, &e) || errors.As(e.Err, new(*distlock.Error)) || !errors.As(got, &p) {
				t.Errorf("%s: got %#v, want one *Error around a *PathError", name, got)
			}
		}
		b.SetHooks(memory.Hooks{})
	})
}

// A refusal leaves nothing to clean up, and nothing is asked of the service.
func TestRefusalIsNotCleanedUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := memory.New()
		calls := count(b, memory.Hooks{Before: on(memory.Acquire, func(context.Context) error { return distlock.Refused(errNet) })})
		c := newClient(t, b)
		_, err := c.TryAcquire(t.Context(), "k")
		is(t, "TryAcquire", err, errNet)
		time.Sleep(time.Minute)
		if n := calls.of(memory.Release); n != 0 {
			t.Errorf("%d releases after a refusal", n)
		}
		b.SetHooks(memory.Hooks{})
		acquire(t, newClient(t, b), "k")
		_, err = c.TryAcquire(t.Context(), "k")
		is(t, "TryAcquire", err, distlock.ErrHeld)
		time.Sleep(time.Minute)
		if n := calls.of(memory.Release); n != 0 {
			t.Errorf("%d releases after ErrHeld", n)
		}
	})
}

func TestOwnersAreSecrets(t *testing.T) {
	o := distlock.NewOwner()
	r := distlock.Request{Key: "k", Owner: o}
	h := distlock.Hold{Key: "k", Owner: o}
	raw := fmt.Sprintf("%v", [20]byte(o))
	for _, text := range []string{
		fmt.Sprint(o), fmt.Sprintf("%v %+v %#v %s %q", o, o, o, o, o),
		fmt.Sprintf("%v %+v %#v", r, r, r), fmt.Sprintf("%v %+v %#v", h, &h, h),
	} {
		if strings.Contains(text, o.Text()) || strings.Contains(text, raw) {
			t.Errorf("%q shows the owner", text)
		}
	}
	if o.Text() == distlock.NewOwner().Text() || len(o.Text()) != 40 {
		t.Errorf("owner %d digits long, or twice the same", len(o.Text()))
	}
}

// fmt calls no method of an unexported field, so a lease hides its owner itself.
func TestLeaseHidesItsOwner(t *testing.T) {
	var got distlock.Request
	b := tweak{memory.New(), func(s memorySession) distlock.Session { return spy{s, &got} }}
	l := acquire(t, newClient(t, b), "k")
	text := fmt.Sprintf("%v %+v %#v %s %q %v", l, l, l, l, l, struct{ *distlock.Lease }{l})
	if strings.Contains(text, fmt.Sprintf("%d", [20]byte(got.Owner))) || strings.Contains(text, got.Owner.Text()) ||
		strings.Contains(text, fmt.Sprintf("%x", [20]byte(got.Owner))) {
		t.Errorf("shown: %s", text)
	}
	if want := fmt.Sprintf(`lease on "k" with token %v`, l.Token()); l.String() != want {
		t.Errorf("got %q, want %q", l, want)
	}
}
