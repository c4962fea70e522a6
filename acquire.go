package distlock

import (
	"context"
	"errors"
	"fmt"
	"math"
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
)

// An acquisition is one call of Acquire or TryAcquire.
type acquisition struct {
	client *Client
	key    string
	set    *settings
	tries  int
	line   *line    // of Acquire
	last   *session // of the last attempt

	waited  bool    // stood in line or was told that the key is held
	failing Instant // since when no attempt was answered; 0: the last one was
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
		c.trace.Acquired(ctx, i)
	}
	return l, err
}

// run checks the arguments, takes a place in line if it is to wait, and goes
// on.
func (a *acquisition) run(ctx context.Context, opts []Option, wait bool) (*Lease, error) {
	c := a.client
	if err := checkKey(a.key); err != nil {
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
	if c.isClosed {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	if !wait && c.queued(a.key) {
		c.mu.Unlock()
		return nil, Held(0)
	}
	c.ops.Add(1)
	defer c.ops.Done()
	if !wait {
		c.mu.Unlock()
		l, err := a.attempt(ctx)
		if err != nil && ctx.Err() != nil {
			err = ended(ctx)
		}
		return l, err
	}
	ln, p := c.lineUp(a.key)
	c.mu.Unlock()
	defer c.leave(ln, p)
	a.line = ln
	a.waited = p.turn != nil
	if err := p.await(ctx, c); err != nil {
		return nil, a.gaveUp(err)
	}
	return a.wait(ctx)
}

// wait is the head of the line: it tries and waits by turns.
func (a *acquisition) wait(ctx context.Context) (*Lease, error) {
	c := a.client
	for {
		c.mu.Lock()
		ours := a.line.lease != nil
		c.mu.Unlock()
		err := error(&heldError{})
		if !ours { // else its end will wake us
			var l *Lease
			if l, err = a.attempt(ctx); err == nil {
				return l, nil
			}
		}
		for {
			pause, err := a.next(ctx, err)
			if err != nil {
				return nil, err
			}
			if a.failing == 0 {
				c.watch(a.line, a.last)
			}
			again, err := a.pause(ctx, pause)
			if err != nil {
				return nil, a.gaveUp(err)
			}
			if again {
				break
			}
		}
	}
}

// next decides after a failed attempt how long to wait before the next one. An
// error ends the call.
func (a *acquisition) next(ctx context.Context, err error) (time.Duration, error) {
	now := a.client.now()
	var held *heldError
	switch {
	case ctx.Err() != nil:
		return 0, a.gaveUp(ended(ctx))
	case errors.Is(err, ErrClosed) || errors.Is(err, ErrInvalid):
		return 0, err
	case errors.As(err, &held):
		a.waited, a.failing = true, 0
		return pollIn(held.rest), nil
	case errors.Is(err, ErrHeld):
		a.waited, a.failing = true, 0
		return pollIn(0), nil
	case err == errSessionOver:
		return 0, nil
	case !a.waited:
		return 0, err
	case a.failing == 0:
		a.failing = now
	case now.Sub(a.failing) >= a.set.terms.TTL:
		return 0, err
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

// pause waits for a wake-up or for d to pass and reports whether it is time to
// try again.
func (a *acquisition) pause(ctx context.Context, d time.Duration) (bool, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-a.line.wake:
		return true, nil
	case <-timer.C:
		return true, nil
	case <-ctx.Done():
		return false, ended(ctx)
	case <-a.client.closing:
		return false, ErrClosed
	}
}

// gaveUp is the error of a wait that ctx or Close has ended.
func (a *acquisition) gaveUp(err error) error {
	if a.waited && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("%w: %w", ErrHeld, err)
	}
	return err
}

// attempt makes one attempt, or stands once in the service's queue. On failure
// nothing is left of it that the client does not clean up.
func (a *acquisition) attempt(ctx context.Context) (*Lease, error) {
	c := a.client
	a.tries++
	s, err := c.use(ctx, a.set.terms)
	if err != nil {
		a.traced(ctx, 0, err)
		return nil, err
	}
	a.last = s
	l, err := a.ask(ctx, s)
	if err != nil {
		c.unuse(s)
	}
	return l, err
}

// ask sends the request and settles its outcome. A lease that it returns is a
// user of s.
func (a *acquisition) ask(ctx context.Context, s *session) (*Lease, error) {
	c := a.client
	if err := s.fresh(ctx); err != nil {
		return nil, err
	}
	l := c.newLease(a, s)
	sent := c.now()
	hold, err := a.send(ctx, s, l)
	if err == nil {
		err = c.verify(hold)
	} else if isRefused(err) {
		c.discard(l, false)
		return nil, err
	}
	if err != nil {
		c.discard(l, true)
		return nil, err
	}
	l.hold.Token, l.hold.State = hold.Token, hold.State
	for {
		err = c.grant(ctx, l, a.set, sent)
		if err != errStaleSession {
			break
		}
		if err = s.fresh(ctx); err != nil {
			break
		}
	}
	if err != nil {
		c.discard(l, true)
		return nil, err
	}
	return l, nil
}

// newLease makes the lease that the attempt is for. A Keeper's session knows
// it from now on, so that word of its loss can overtake the grant's answer.
func (c *Client) newLease(a *acquisition, s *session) *Lease {
	l := &Lease{
		client: c, session: s, done: make(chan struct{}), limit: forever, renews: a.set.renew,
		hold: Hold{Key: a.key, Owner: NewOwner(), Terms: a.set.terms},
	}
	l.until = &l.own
	if s.keeper != nil {
		l.until = &s.until
		c.mu.Lock()
		s.leases[l.hold.Owner] = l
		c.mu.Unlock()
	}
	return l
}

// send makes the request, within its bound and within the session's life.
func (a *acquisition) send(ctx context.Context, s *session, l *Lease) (Hold, error) {
	r := Request{Key: a.key, Owner: l.hold.Owner, Terms: a.set.terms, Holder: a.set.holder}
	var start time.Time
	if a.client.trace.Attempted != nil {
		start = time.Now()
	}
	var hold Hold
	var err error
	if s.queuer != nil && a.line != nil {
		qctx, cancel := context.WithCancelCause(ctx)
		stop := context.AfterFunc(s.ctx, func() { cancel(errSessionOver) })
		hold, err = s.queuer.Acquire(qctx, r)
		stop()
		if err != nil && ctx.Err() == nil && qctx.Err() != nil {
			err = errSessionOver
		}
		cancel(nil)
	} else {
		bound := min(attemptBound, a.set.terms.TTL)
		tctx, cancel := context.WithTimeout(ctx, bound)
		hold, err = s.api.TryAcquire(tctx, r)
		if err != nil && ctx.Err() == nil && tctx.Err() != nil {
			err = fmt.Errorf("no answer within %v: %w", bound, inner(err))
		}
		cancel()
	}
	if a.client.trace.Attempted != nil {
		a.traced(ctx, time.Since(start), err)
	}
	return hold, err
}

func (a *acquisition) traced(ctx context.Context, took time.Duration, err error) {
	if f := a.client.trace.Attempted; f != nil {
		f(ctx, AttemptInfo{
			Backend: a.client.info.Name, Key: a.key, Number: a.tries, Duration: took,
			Retry: err != nil && a.waited && ctx.Err() == nil, Err: err,
		})
	}
}

// verify checks the token of a grant: a backend that promises fencing gives
// one, and one that does not fakes none.
func (c *Client) verify(h Hold) error {
	if none := c.info.Fencing == FencingNone; none != (h.Token == 0) || h.Token > math.MaxInt64 {
		return fmt.Errorf("backend %s: fencing is %v and the token of a grant is %v", c.info.Name, c.info.Fencing, h.Token)
	}
	return nil
}

// errStaleSession says that the session must be renewed before a lease on it
// is handed over.
var errStaleSession = errors.New("session is close to its deadline")

// grant hands l over, unless it has come too late for anybody.
func (c *Client) grant(ctx context.Context, l *Lease, set *settings, sent Instant) error {
	c.mu.Lock()
	defer c.unlock()
	now := c.now()
	s, ttl := l.session, l.hold.Terms.TTL
	end := sent.Add(ttl - drift(ttl))
	l.granted = sent
	if !set.renew {
		l.limit = end
	}
	if set.maxHold > 0 {
		l.limit = min(l.limit, sent.Add(set.maxHold))
	}
	l.own.Store(int64(end))
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case c.isClosed:
		return ErrClosed
	case l.lostErr != nil || s.over:
		return errSessionOver
	case Instant(l.until.Load()).Sub(now) >= minLeft(ttl):
	case s.keeper != nil:
		return errStaleSession
	default:
		return fmt.Errorf("granted too late: the answer took %v of a TTL of %v", now.Sub(sent), ttl)
	}
	l.kept = true
	l.due = sent.Add(renewEvery(ttl))
	c.leases[l] = struct{}{}
	c.takeOver(l)
	l.reschedule()
	return nil
}

// discard forgets a lease that was never handed over, and cleans up behind it
// if the server may have it.
func (c *Client) discard(l *Lease, leftover bool) {
	c.mu.Lock()
	delete(l.session.leases, l.hold.Owner)
	if leftover {
		c.cleanHold(l, 0)
	}
	c.unlock()
}
