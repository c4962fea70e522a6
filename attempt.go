package distlock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

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

// send makes the request. Close cuts it short.
func (a *acquisition) send(ctx context.Context, s *session, l *Lease) (hold Hold, err error) {
	c := a.client
	r := Request{Key: a.key, Owner: l.hold.Owner, Terms: a.set.terms, Holder: a.set.holder}
	var start time.Time
	if c.trace.Attempted != nil {
		start = time.Now()
	}
	if s.queuer != nil && a.line != nil {
		hold, err = a.queue(ctx, s, r)
	} else {
		hold, err = a.try(ctx, s, r)
	}
	if err != nil && ctx.Err() == nil && !isRefused(err) && c.isClosing() {
		err = ErrClosed
	}
	if c.trace.Attempted != nil {
		a.traced(ctx, time.Since(start), err)
	}
	return hold, err
}

// try makes one attempt, within its bound.
func (a *acquisition) try(ctx context.Context, s *session, r Request) (Hold, error) {
	bound := min(attemptBound, r.Terms.TTL)
	tctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	if !a.begin(cancel) {
		return Hold{}, Refused(ErrClosed)
	}
	defer a.end()
	hold, err := s.api.TryAcquire(tctx, r)
	if err != nil && ctx.Err() == nil && tctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("no answer within %v: %w", bound, inner(err))
	}
	return hold, err
}

// queue stands in the service's queue for as long as the session lives.
func (a *acquisition) queue(ctx context.Context, s *session, r Request) (Hold, error) {
	a.queued = true
	qctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !a.begin(cancel) {
		return Hold{}, Refused(ErrClosed)
	}
	defer a.end()
	defer context.AfterFunc(s.ctx, cancel)()
	hold, err := s.queuer.Acquire(qctx, r)
	if err != nil && ctx.Err() == nil && s.ctx.Err() != nil {
		err = errSessionOver
	}
	return hold, err
}

// begin lets Close cancel the request that a is about to make. It reports
// false if Close has begun.
func (a *acquisition) begin(cancel context.CancelFunc) bool {
	c := a.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed {
		return false
	}
	c.calls[a] = cancel
	return true
}

// end is called when the request that begin announced has ended.
func (a *acquisition) end() {
	a.client.mu.Lock()
	delete(a.client.calls, a)
	a.client.mu.Unlock()
}

func (a *acquisition) traced(ctx context.Context, took time.Duration, err error) {
	if f := a.client.trace.Attempted; f != nil {
		f(ctx, AttemptInfo{
			Backend: a.client.info.Name, Key: a.key, Number: a.tries, Duration: took,
			Retry: a.line != nil && ctx.Err() == nil && (a.waited || errors.Is(err, ErrHeld)), Err: err,
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
	l.granted = sent
	if s.keeper != nil {
		l.granted = now // it may have stood in a queue; what it lives by is the session
	}
	end := l.granted.Add(ttl - drift(ttl))
	if !set.renew {
		l.limit = end
	}
	if set.maxHold > 0 {
		l.limit = min(l.limit, l.granted.Add(set.maxHold))
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
	l.due = l.granted.Add(renewEvery(ttl))
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
