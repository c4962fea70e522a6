package distlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// attemptBound is how long one request for a key may go without an answer,
	// or one TTL if that is shorter: a later grant would be worth nothing.
	attemptBound = 10 * time.Second
	// pollEvery is the longest a waiter goes without asking, however many
	// wake-ups are lost.
	pollEvery = time.Second
	// sessionPause comes before a waiter opens another session.
	sessionPause = 20 * time.Millisecond
)

// An acquisition is one call of Acquire or TryAcquire.
type acquisition struct {
	client *Client
	key    string
	set    *settings
	tries  int
	line   *line    // of Acquire
	last   *session // of the last attempt

	began  Instant // the last attempt
	waited bool    // stood in line or was told that the key is held
	since  Instant // when it came to that
	head   bool    // of the line
}

// Acquire waits for key: see Locker.
func (c *Client) Acquire(ctx context.Context, key string, opts ...Option) (*Lease, error) {
	return c.acquire(ctx, key, opts, true)
}

// TryAcquire makes one attempt at key: see Locker.
func (c *Client) TryAcquire(ctx context.Context, key string, opts ...Option) (*Lease, error) {
	return c.acquire(ctx, key, opts, false)
}

func (c *Client) acquire(ctx context.Context, key string, opts []Option, wait bool) (*Lease, error) {
	a := acquisition{client: c, key: key}
	var start time.Time
	if c.trace.Acquired != nil {
		start = time.Now()
	}
	l, err := a.run(ctx, opts, wait)
	if err != nil {
		l, err = nil, c.fail("acquire", key, err)
	}
	if c.trace.Acquired != nil {
		i := AcquireInfo{
			Backend: c.info.Name, Key: key, Wait: wait, Start: start,
			Duration: time.Since(start), Attempts: a.tries, Err: err,
		}
		if l != nil {
			i.Token = l.hold.Token
		}
		if wait && a.waited {
			i.Waited = c.now().Sub(a.since)
		}
		c.trace.Acquired(ctx, i)
	}
	return l, err
}

// run checks the arguments, and then waits in line or tries once.
func (a *acquisition) run(ctx context.Context, opts []Option, wait bool) (*Lease, error) {
	c := a.client
	if err := CheckKey(a.key); err != nil {
		return nil, err
	}
	set, err := c.settings(opts)
	if err != nil {
		return nil, err
	}
	a.set = set
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	c.mu.Lock()
	if c.isClosing() {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	if !wait && c.queued(a.key) {
		c.mu.Unlock()
		return nil, Held(0)
	}
	c.ops.Add(1)
	defer c.ops.Done()
	if wait {
		return a.standInLine(ctx)
	}
	c.mu.Unlock()
	l, err := a.attempt(ctx)
	if err == errSessionOver {
		a.traced(ctx, err, true)
		l, err = a.attempt(ctx) // on another one
	}
	a.traced(ctx, err, false)
	if err != nil && ctx.Err() != nil {
		err = a.gaveUp(ended(ctx))
	}
	return l, err
}

// standInLine takes a place in line and waits from there. It unlocks c.mu.
func (a *acquisition) standInLine(ctx context.Context) (*Lease, error) {
	c := a.client
	ln, p := c.lineUp(a.key)
	c.mu.Unlock()
	defer c.leave(ln, p)
	a.line = ln
	if p.turn != nil {
		a.waits()
	}
	if err := p.await(ctx, c); err != nil {
		return nil, a.gaveUp(err)
	}
	a.head = true
	return a.wait(ctx)
}

// waits notes that somebody else has the key or comes before.
func (a *acquisition) waits() {
	if !a.waited {
		a.waited, a.since = true, a.client.now()
	}
}

// wait is the head of the line: it tries and waits by turns.
func (a *acquisition) wait(ctx context.Context) (*Lease, error) {
	c := a.client
	for {
		pause := jitter(pollEvery)
		if c.ours(a.line) {
			a.waits() // its end will wake us
		} else {
			told := a.waited
			l, err := a.attempt(ctx)
			if err == nil {
				a.line.failing = 0
				a.traced(ctx, nil, false)
				return l, nil
			}
			var final error
			pause, final = a.next(ctx, err)
			a.traced(ctx, err, final == nil)
			if final != nil {
				return nil, final
			}
			if !told && a.waited && a.last.queuer != nil {
				continue // into the service's queue
			}
			if a.line.failing == 0 {
				c.watch(a.line, a.last)
			}
		}
		if err := a.pause(ctx, pause); err != nil {
			return nil, a.gaveUp(err)
		}
	}
}

// next decides after a failed attempt how long to wait before the next one. An
// error ends the call. What it knows of the service it leaves to the next head
// of the line, so that an outage ends all waits together.
func (a *acquisition) next(ctx context.Context, err error) (time.Duration, error) {
	ln, now := a.line, a.client.now()
	var held *heldError
	switch {
	case ctx.Err() != nil: // first: its cause can match anything
		return 0, a.gaveUp(ended(ctx))
	case errors.Is(err, ErrClosed), errors.Is(err, ErrInvalid):
		return 0, err
	case errors.As(err, &held):
		ln.failing = 0
		return pollIn(held.rest), nil
	case errors.Is(err, ErrHeld):
		ln.failing = 0
		return pollIn(0), nil
	case err != errSessionOver && !a.waited:
		return 0, err
	}
	ttl := a.set.terms.TTL
	if ln.failing == 0 || err == errSessionOver && now.Sub(a.began) >= ttl { // it was renewed meanwhile
		ln.failing = now
	}
	ln.failed = err
	switch {
	case now.Sub(ln.failing) >= ttl:
		return 0, err
	case err == errSessionOver:
		return jitter(sessionPause), nil
	}
	return jitter(pollEvery / 4), nil
}

// pollIn is how long a waiter goes without a wake-up: what is left of the
// holder's lifetime, but at most pollEvery, and not at the same moment as
// others.
func pollIn(rest time.Duration) time.Duration {
	if rest <= 0 || rest >= pollEvery {
		return jitter(pollEvery)
	}
	return rest + time.Millisecond + rand.N(1+rest/16)
}

// jitter returns a duration between three quarters of d and d.
func jitter(d time.Duration) time.Duration { return d - rand.N(1+d/4) }

// pause waits for a wake-up or for d to pass. An error ends the call.
func (a *acquisition) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-a.line.wake:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	case <-a.client.closing:
		return ErrClosed
	}
}

// gaveUp is the error of a wait that ctx or Close has ended. While the service
// does not answer, it tells what the last attempt came to.
func (a *acquisition) gaveUp(err error) error {
	if !a.waited || errors.Is(err, ErrClosed) {
		return err
	}
	if a.line != nil && a.head && a.line.failing != 0 {
		return fmt.Errorf("%w: %w; last attempt: %w", ErrHeld, err, inner(a.line.failed))
	}
	return fmt.Errorf("%w: %w", ErrHeld, err)
}
