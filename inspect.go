package distlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// An Inspector is a Backend that can look at a key, and free it by force, for
// somebody who takes no part in its lock. It needs no Session for either, leaves
// nothing behind, and answers promptly when ctx ends. Backends without it answer
// no Inspect, Break and CheckSequencer.
type Inspector interface {
	// Inspect tells which grant has key. It wakes nobody. Data that is none of a
	// grant of this library is an error that matches ErrForeign. The backend's
	// documentation says how fresh the answer is.
	Inspect(ctx context.Context, key string) (LockInfo, error)
	// Break ends the grant of key that has token t, by one comparison on the
	// server, and keeps everybody from the key for delay, which Check has
	// accepted. It returns nil if it did, an error that matches ErrStale if that
	// grant does not have the key, one that matches ErrForeign as Inspect does,
	// and any other if it cannot tell. The holder's next renewal finds it lost.
	Break(ctx context.Context, key string, t Token, delay time.Duration) error
}

// LockInfo is what a lock service knows of one key.
type LockInfo struct {
	// Held says that a grant has the key. All else is zero without it, but Waiters.
	Held bool
	// Token of the grant; 0 with FencingNone.
	Token Token
	// Holder is the text of WithHolder.
	Holder string
	// Left is how long the service keeps the grant if it hears nothing from the
	// holder, with the lock-delay, or -1 where the service does not tell.
	Left time.Duration
	// Waiters is how many wait for the key, or -1 where the service does not know.
	// Those of one Client count as one.
	Waiters int
}

// Inspect asks the lock service who has key. It takes no part in the lock, and
// what it returns can be old when it arrives: it is for people and their tools,
// and no ground to write on. The error matches
//   - ErrForeign: the service has something under the key that is none of this
//     library's grants;
//   - ErrInvalid: the key is out of bounds;
//   - errors.ErrUnsupported: the backend is no Inspector;
//   - ErrClosed, ctx.Err(), or the service's own error: unknown.
func (c *Client) Inspect(ctx context.Context, key string) (LockInfo, error) {
	info, err := c.inspect(ctx, key)
	if err != nil {
		return LockInfo{}, c.fail("inspect", key, err)
	}
	return info, nil
}

func (c *Client) inspect(ctx context.Context, key string) (LockInfo, error) {
	i, err := c.inspector(key)
	if err != nil {
		return LockInfo{}, err
	}
	info, err := i.Inspect(ctx, key)
	if err != nil {
		return LockInfo{}, outside(ctx, err)
	}
	return info, nil
}

// Break frees key by force, for an operator who has made sure that its holder is
// to go, if the grant that Inspect has shown still has it: the one with token t.
// The holder is not asked. It learns that its lease is lost at once where the
// service tells it, else at its next renewal, and until then can act: break a lock
// only where its resources check tokens, or the holder is known to be dead.
// Nobody gets the key within the lock-delay of this client (see WithLockDelay),
// rounded up to what the service counts in.
//
// The error is nil if the grant was ended, and else matches
//   - ErrStale: that grant does not have the key. Nothing was done;
//   - ErrForeign, ErrInvalid, errors.ErrUnsupported, ErrClosed as in Inspect.
//     ErrInvalid also for a t of 0: a lock without tokens cannot be broken, as
//     nothing tells its grants apart;
//   - ctx.Err() or the service's own error: unknown. To ask again is safe.
func (c *Client) Break(ctx context.Context, key string, t Token) error {
	if err := c.breakKey(ctx, key, t); err != nil {
		return c.fail("break", key, err)
	}
	return nil
}

func (c *Client) breakKey(ctx context.Context, key string, t Token) error {
	i, err := c.inspector(key)
	if err != nil {
		return err
	}
	if t == 0 {
		return Invalid("token", 0, "that of a grant")
	}
	return outside(ctx, i.Break(ctx, key, t, max(c.defaults.terms.LockDelay, 0)))
}

// inspector returns the backend as an Inspector that may be asked about key.
func (c *Client) inspector(key string) (Inspector, error) {
	i, ok := c.backend.(Inspector)
	switch err := checkKey(key); {
	case err != nil:
		return nil, err
	case c.isClosing():
		return nil, ErrClosed
	case !ok:
		return nil, fmt.Errorf("%w: %s cannot be looked into", errors.ErrUnsupported, c.info.Name)
	}
	return i, nil
}

// outside is the error of a call to the backend that no lease is behind.
func outside(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		return inner(err)
	}
	return err
}
