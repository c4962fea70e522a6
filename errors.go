package distlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Decisions a caller can act on. Errors of this package match them with
// errors.Is.
var (
	// ErrHeld: somebody else has the key, or waiters of this client stand
	// before the caller.
	ErrHeld = errors.New("held by another owner")
	// ErrLost: the lease ended before it was released. The key may have a new
	// holder; only a fence keeps late writes out.
	ErrLost = errors.New("lease lost")
	// ErrReleased: the lease was given up, by Release, by Do or by Close.
	ErrReleased = errors.New("lease released")
	// ErrStale: a resource has seen a larger token than the one offered; or the
	// grant of that token does not have its key, see Client.Break.
	ErrStale = errors.New("stale token")
	// ErrNoFencing: the backend's tokens are worth less than RequireFencing asks.
	ErrNoFencing = errors.New("fencing level not offered")
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("client closed")
	// ErrInvalid: an argument is out of its bounds. Nothing was sent.
	ErrInvalid = errors.New("invalid argument")
	// ErrSource: a token is of another lock source than the mark it was to be
	// compared with. Tokens of two sources have no order: nothing was compared
	// and nothing changed. It matches ErrInvalid too. An operator has to decide,
	// see the Reset of the fence at hand.
	ErrSource = fmt.Errorf("%w: token of another lock source", ErrInvalid)
	// ErrForeign: the service has something under the key that is none of this
	// library's grants. It was left as it is.
	ErrForeign = errors.New("not a lock of this library")
)

// Error is the one wrapper around every error that leaves a Client or a Lease,
// but for Lease.Err and contexts of leases after a release, which say just
// ErrReleased. (A Fence needs none: its errors name the key by themselves.)
// It says what was tried on which key; Err says why it failed and matches the
// sentinels above or the service's own error.
type Error struct {
	Op      string // "new", "ping", "acquire", "release", "hold", "check", "inspect", "break", "close"
	Backend string // the backend's name, such as "redis"
	Key     string // empty where no key is concerned
	Err     error
}

// Error reads: distlock: acquire "invoice/42" (redis): held by another owner.
func (e *Error) Error() string {
	s := "distlock: " + e.Op
	if e.Key != "" {
		s += " " + strconv.Quote(e.Key)
	}
	if e.Backend != "" {
		s += " (" + e.Backend + ")"
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Invalid returns an error that matches ErrInvalid and names the field, its
// value and the bound it broke. Backends use it in Check.
func Invalid(field string, value any, bound string) error {
	return fmt.Errorf("%w: %s is %v, must be %s", ErrInvalid, field, value, bound)
}

// Held returns the error of a refused attempt: it matches ErrHeld. Rest is how
// long the present holder has left unless it renews, or 0 where the service
// does not say; a waiter polls when it is over.
func Held(rest time.Duration) error { return &heldError{rest: rest} }

type heldError struct{ rest time.Duration }

func (*heldError) Error() string        { return ErrHeld.Error() }
func (*heldError) Is(target error) bool { return target == ErrHeld }

// Refused marks an error of a backend as certain: the service answered, or was
// never reached, and nothing of the request can take effect later. Of an attempt
// the core has then nothing to clean up, and of a release it knows that this
// request has not freed the key. Any unmarked error other than ErrHeld counts
// as unknown: the key may have been granted, or freed.
func Refused(err error) error {
	if err == nil {
		return nil
	}
	return &refusedError{err}
}

type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// isRefused tells an outcome that is known to be "not granted".
func isRefused(err error) bool {
	if err == nil {
		return false // before r is allocated
	}
	var r *refusedError
	return errors.Is(err, ErrHeld) || errors.As(err, &r)
}

// lost returns an error that matches ErrLost and tells the cause, if any.
func lost(cause error) error {
	if cause == nil || cause == ErrLost {
		return ErrLost
	}
	if errors.Is(cause, ErrLost) {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrLost, inner(cause))
}

// inner hides a context error of one of our own bounded calls, so that nobody
// takes it for the caller's deadline. Everything else still matches.
func inner(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &innerError{err}
	}
	return err
}

type innerError struct{ err error }

func (e *innerError) Error() string { return e.err.Error() }
func (e *innerError) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

func (e *innerError) As(target any) bool { return errors.As(e.err, target) }

// ended is the error of a call whose own ctx ended: it matches ctx.Err() and
// tells the cause.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, err) {
		return err
	}
	return fmt.Errorf("%w: %w", err, &causeError{cause})
}

// A causeError is the cause of a ctx that is not ours. It matches none of our
// sentinels: an errgroup ends its ctx with a sibling's ErrHeld, and that says
// nothing of this call's key.
type causeError struct{ err error }

func (e *causeError) Error() string { return e.err.Error() }
func (e *causeError) Is(target error) bool {
	return !slices.Contains(sentinels, target) && errors.Is(e.err, target)
}

func (e *causeError) As(target any) bool { return errors.As(e.err, target) }

var sentinels = []error{ErrHeld, ErrLost, ErrReleased, ErrStale, ErrNoFencing, ErrClosed, ErrInvalid, ErrSource, ErrForeign}
