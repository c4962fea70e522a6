package distlock

import (
	"context"
	"errors"
	"fmt"
)

// attempt makes one attempt, or stands once in the service's queue. On failure
// nothing is left of it that the client does not clean up.
func (a *acquisition) attempt(ctx context.Context) (*Lease, error) {
	c := a.client
	a.began = c.now()
	a.tries++
	if ctx.Err() != nil { // it ended together with a wake-up
		return nil, ended(ctx)
	}
	s, err := c.use(ctx, a.set.terms)
	if err != nil {
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
	switch a.outcome(ctx, s, err) {
	case granted:
		err = c.verify(hold)
	case sessionGone:
		c.sessionGone(s, err)
		err = errSessionOver
	case refused:
		c.discard(l, false)
		return nil, err
	}
	if err != nil {
		c.discard(l, true)
		return nil, err
	}
	l.hold.Token, l.hold.State = hold.Token, hold.State
	err = errStaleSession
	for err == errStaleSession {
		if err = s.fresh(ctx); err == nil {
			err = c.grant(ctx, l, a.set, sent)
		}
	}
	if err != nil {
		c.discard(l, true)
		return nil, err
	}
	return l, nil
}

// What a request has come to.
type outcome int

const (
	unknown     outcome = iota // the key may have been granted
	granted                    // it was
	refused                    // it was not, for certain
	sessionGone                // nor can it be, on this session
)

// outcome judges err, a backend's. It notes that the key is held.
func (a *acquisition) outcome(ctx context.Context, s *session, err error) outcome {
	switch {
	case err == nil:
		return granted
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return unknown // whatever the cause matches, it is not the service's word
	case s.keeper != nil && errors.Is(err, ErrLost):
		return sessionGone
	case isRefused(err):
		if errors.Is(err, ErrHeld) {
			a.waits()
		}
		return refused
	}
	return unknown
}

// send makes the request. Close cuts it short.
func (a *acquisition) send(ctx context.Context, s *session, l *Lease) (hold Hold, err error) {
	c := a.client
	r := Request{Key: a.key, Owner: l.hold.Owner, Terms: a.set.terms, Holder: a.set.holder}
	if a.queues(s) {
		hold, err = a.queue(ctx, s, r)
	} else {
		hold, err = a.try(ctx, s, r)
	}
	if err != nil && ctx.Err() == nil {
		err = inner(err)
		if c.isClosing() && !isRefused(err) {
			err = ErrClosed
		}
	}
	return hold, err
}

// try makes one attempt, within its bound.
func (a *acquisition) try(ctx context.Context, s *session, r Request) (Hold, error) {
	bound := min(attemptBound, r.Terms.TTL)
	tctx := within(ctx, bound)
	defer tctx.cancel()
	if err := a.begin(s, tctx.cancel); err != nil {
		return Hold{}, err
	}
	defer a.end()
	hold, err := s.api.TryAcquire(tctx, r)
	if err != nil && ctx.Err() == nil && tctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("no answer within %v: %w", bound, err)
	}
	return hold, err
}

// queues reports whether the attempt is to stand in the service's queue: once
// the service has said that the key is held, so that it is known to answer.
func (a *acquisition) queues(s *session) bool {
	return s.queuer != nil && a.line != nil && a.waited
}

// queue stands in the service's queue for as long as the session lives.
func (a *acquisition) queue(ctx context.Context, s *session, r Request) (Hold, error) {
	qctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := a.begin(s, cancel); err != nil {
		return Hold{}, err
	}
	defer a.end()
	defer context.AfterFunc(s.ctx, cancel)()
	hold, err := s.queuer.Acquire(qctx, r)
	if err != nil && ctx.Err() == nil && s.ctx.Err() != nil {
		err = errSessionOver
	}
	return hold, err
}

// begin lets Close cancel the request that a is about to make on s. An error
// says that there must be none any more.
func (a *acquisition) begin(s *session, cancel context.CancelFunc) error {
	c := a.client
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.isClosing():
		return Refused(ErrClosed)
	case s.over:
		return errSessionOver
	}
	c.calls[a] = cancel
	return nil
}

// end is called when the request that begin announced has ended.
func (a *acquisition) end() {
	a.client.mu.Lock()
	delete(a.client.calls, a)
	a.client.mu.Unlock()
}

// traced reports on the last attempt, once it is known whether the call goes
// on after it.
func (a *acquisition) traced(ctx context.Context, err error, goesOn bool) {
	if f := a.client.trace.Attempted; f != nil {
		f(ctx, AttemptInfo{
			Backend: a.client.info.Name, Key: a.key, Number: a.tries,
			Duration: a.client.now().Sub(a.began), Retry: goesOn, Err: err,
		})
	}
}
