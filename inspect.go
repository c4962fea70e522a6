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
	// Break ends the grant of key that has token t, which is not 0, by one
	// comparison on the server. Then it keeps everybody from the key for delay,
	// which Check has accepted, or wakes who waits for it, as a release does, if
	// that is 0. What keeps the key is nobody's: no renewal or release of the old
	// holder's reaches it, and Inspect shows it as a lock-delay.
	//
	// It returns nil if it did, an error that matches ErrStale if that grant does
	// not have the key, one that matches ErrForeign as Inspect does, and any other
	// if it cannot tell. A renewal finds the holder's lease lost, the next one if
	// the backend's documentation names no other. A backend with
	// FencingNone is not asked.
	Break(ctx context.Context, key string, t Token, delay time.Duration) error
}

// LockInfo is what a lock service knows of one key. It is zero for a key that is
// free and that nobody waits for.
type LockInfo struct {
	// Held says that a grant has the key: that of a holder, of one that was lost
	// while its lifetime on the server lasts, or of one that has released it
	// WithMinHold.
	Held bool
	// Token of that grant; 0 with FencingNone.
	Token Token
	// Holder is the text of its WithHolder.
	Holder string
	// Left is how long the service keeps the key from others if it hears nothing
	// more of the holder, lock-delay included. Where no grant has the key it is what
	// is left of a lock-delay, in which nobody gets it. -1: the service does not tell.
	Left time.Duration
	// Waiters is how many wait for the key, those of one Client counted as one. -1:
	// the service does not know.
	Waiters int
}

// CheckPresent returns nil if t is the token of the grant that has a key now, which
// is that with the token present, 0 for none; and else an error that matches ErrStale.
// It is for the Break of backends.
func CheckPresent(present, t Token) error {
	switch present {
	case t:
		return nil
	case 0:
		return fmt.Errorf("%w: nobody has the key", ErrStale)
	}
	return fmt.Errorf("%w: %v is not the present %v", ErrStale, t, present)
}

// Inspect asks the lock service who has key. It takes no part in the lock, and
// what it returns can be old when it arrives: it is for people and their tools,
// and no ground to write on. It takes 10 s at most. The error matches
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
	b := within(ctx, openBound)
	defer b.cancel()
	info, err := i.Inspect(b, key)
	return info, outside(ctx, err)
}

// Break frees key by force, for an operator who has made sure that its holder is
// to go, if the grant that Inspect has shown still has it: the one with token t.
// The holder is not asked. It learns that its lease is lost at once where the
// service tells it, else at its next renewal (on Consul later, if its client has more
// than 22 leases), and until then can act: break a lock
// only where its resources check tokens, or the holder is known to be dead.
// Nobody gets the key within the lock-delay of this client (see WithLockDelay),
// rounded up to what the service counts in; without one, who waits for it gets it
// at once.
//
// The error is nil if the grant was ended, and else matches
//   - ErrStale: that grant does not have the key. Nothing was done;
//   - ErrForeign, ErrInvalid, ErrClosed as in Inspect. ErrInvalid also for a t that
//     is no token;
//   - errors.ErrUnsupported as in Inspect, and with FencingNone, where nothing
//     tells the grants of a key apart;
//   - ctx.Err() or the service's own error: unknown. To ask again is safe: ErrStale
//     says then that the grant has ended, whoever did it.
func (c *Client) Break(ctx context.Context, key string, t Token) error {
	start := time.Now()
	delay := max(c.defaults.terms.LockDelay, 0)
	err := c.breakKey(ctx, key, t, delay)
	if err != nil {
		err = c.fail("break", key, err)
	}
	if f := c.trace.Broken; f != nil {
		f(ctx, BreakInfo{c.info.Name, key, t, delay, time.Since(start), err})
	}
	return err
}

func (c *Client) breakKey(ctx context.Context, key string, t Token, delay time.Duration) error {
	i, err := c.inspector(key)
	switch {
	case err != nil:
		return err
	case c.info.Fencing == FencingNone:
		return fmt.Errorf("%w: without tokens nothing tells the grants of a key apart", errors.ErrUnsupported)
	}
	if err := CheckToken(t); err != nil {
		return err
	}
	return outside(ctx, i.Break(ctx, key, t, delay))
}

// inspector returns the backend as an Inspector that may be asked about key.
func (c *Client) inspector(key string) (Inspector, error) {
	i, ok := c.backend.(Inspector)
	switch err := CheckKey(key); {
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
