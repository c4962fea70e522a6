package distlock

import (
	"context"
	"errors"
)

// Do acquires key through l, calls fn, and releases the lease, also when fn
// panics or calls runtime.Goexit. The ctx that fn gets ends when ctx does or
// when the lease does; fn must then stop. It carries the token: see
// TokenFromContext.
//
// Do returns Acquire's error, and then fn was not called; or fn's error,
// joined with ErrLost if the lease was lost before fn returned. A release that
// the server did not answer is not fn's failure: the trace is told of it, and
// the client goes on trying behind the call.
func Do(ctx context.Context, l Locker, key string, fn func(ctx context.Context, lease *Lease) error, opts ...Option) error {
	switch {
	case l == nil:
		return &Error{Op: "acquire", Key: key, Err: Invalid("locker", "nil", "a Locker")}
	case fn == nil:
		return &Error{Op: "acquire", Key: key, Err: Invalid("fn", "nil", "a function")}
	}
	lease, err := l.Acquire(ctx, key, opts...)
	if err != nil {
		return err
	}
	return lease.do(ctx, fn)
}

// do runs fn under the lease. Close waits for it.
func (l *Lease) do(ctx context.Context, fn func(context.Context, *Lease) error) (err error) {
	c := l.client
	c.mu.Lock()
	closed := c.isClosing()
	if !closed {
		c.running.Add(1)
	}
	c.mu.Unlock()
	if closed {
		return errors.Join(c.fail("acquire", l.hold.Key, ErrClosed), unlessReleased(l.Release(ctx)))
	}
	defer c.running.Done()
	returned, report := l.watchOverrun()
	defer report()
	defer func() {
		returned()
		// Without ctx's deadline: fn's result waits for no more than closeBound.
		rerr := l.Release(context.WithoutCancel(ctx))
		if errors.Is(rerr, ErrLost) {
			err = errors.Join(err, rerr)
		}
	}()
	return fn(l.Context(ctx), l)
}

// unlessReleased keeps the one error of a release that says something.
func unlessReleased(err error) error {
	if errors.Is(err, ErrLost) {
		return err
	}
	return nil
}
