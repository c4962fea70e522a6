package distlock

import (
	"context"
	"errors"
	"time"
)

// Release gives the lease up. From its first call on, Done is closed, Valid is
// false and Err is ErrReleased, whatever the server answers. It returns
//   - nil: the server has given the key up, once, or will when the time of
//     WithMinHold is over; later calls return ErrReleased;
//   - ErrLost: the lease had ended before. The key may have been somebody
//     else's for a while;
//   - any other error: unknown. The server has not answered, and the client
//     goes on trying behind the call until the grant's lifetime there is over.
//     Calling again asks again, and says nil if the key is gone by then, one
//     of the requests for it may have been carried out and the deadline has
//     not passed, else ErrLost.
//
// The request is not cut short by the end of ctx; the call takes at most 5 s,
// or as long as ctx has left if that is more. A renewal under way is awaited
// first. It never frees a later holder's grant. A nil or zero Lease, which no
// call has returned, is ErrInvalid.
func (l *Lease) Release(ctx context.Context) error {
	if l == nil || l.client == nil {
		return &Error{Op: "release", Err: Invalid("lease", "none", "what Acquire or TryAcquire has returned")}
	}
	rctx := detached(ctx)
	defer rctx.cancel()
	return l.tracedRelease(rctx)
}

// detached returns a context with ctx's values that does not end with it, but
// after closeBound or at ctx's deadline, whichever is later.
func detached(ctx context.Context) *boundContext {
	bound := closeBound
	if d, ok := ctx.Deadline(); ok {
		bound = max(bound, time.Until(d))
	}
	if ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	return within(ctx, bound)
}

// tracedRelease wraps and reports what release does. ctx bounds it.
func (l *Lease) tracedRelease(ctx context.Context) error {
	c := l.client
	var start time.Time
	if c.trace.Released != nil {
		start = time.Now()
	}
	at := c.now()
	ended, err := l.release(ctx, at)
	if _, wrapped := err.(*Error); err != nil && !wrapped {
		err = c.fail("release", l.hold.Key, err)
	}
	if c.trace.Released != nil {
		c.trace.Released(ctx, ReleaseInfo{
			Backend: c.info.Name, Key: l.hold.Key, Token: l.hold.Token,
			Held: at.Sub(l.granted), Ended: ended, Duration: time.Since(start), Err: err,
		})
	}
	return err
}

// release lets one caller at a time through. Ended says that it was the call that
// ended the lease.
func (l *Lease) release(ctx context.Context, now Instant) (ended bool, err error) {
	inflight, ended, err := l.beginRelease(ctx, now)
	if err != nil {
		return false, err
	}
	return ended, l.settleRelease(l.sendRelease(ctx, inflight))
}

// beginRelease makes the caller the one whose request is under way, as a user
// of the session that Close waits for. It returns the renewal that has to end
// before. An error is what Release returns.
func (l *Lease) beginRelease(ctx context.Context, now Instant) (inflight chan struct{}, ended bool, err error) {
	c := l.client
	c.mu.Lock()
	defer c.unlock()
	for l.releasing != nil {
		other := l.releasing
		c.unlock()
		select {
		case <-other:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if l.releasing == other {
			return nil, false, errOther
		}
	}
	if l.kept && now >= l.validUntil() {
		c.lose(l, l.outOfTime(), true)
	}
	if err := l.outcome(); err != nil {
		return nil, false, err
	}
	if ended = l.kept; ended {
		c.end(l, ErrReleased)
		c.unkeep(l)
		l.releasedAt = now
	} else {
		l.session.users++
	}
	l.releasing = make(chan struct{})
	c.leases[l] = struct{}{}
	return l.inflight, ended, nil
}

// outcome is what Release returns without asking the server. Client.mu is
// held.
func (l *Lease) outcome() error {
	c := l.client
	switch {
	case l.lostErr != nil:
		return l.lostErr
	case l.released:
		return ErrReleased
	case l.session.over && c.isClosing(): // an earlier release had no answer
		return ErrClosed
	case l.session.over: // and with it the key
		return lost(errSessionOver)
	}
	return nil
}

// sendRelease waits for a renewal under way and then asks the server. Where the
// grant has a lifetime of its own it asks twice if the first answer says nothing
// and there is time; elsewhere the second one could take the end of the session,
// and with it the loss of the lease, for what the first one has done.
func (l *Lease) sendRelease(ctx context.Context, inflight chan struct{}) error {
	if inflight != nil {
		select {
		case <-inflight:
		case <-ctx.Done():
			return errBusy
		}
	}
	err := l.ask(ctx)
	if err != nil && !errors.Is(err, ErrLost) && l.session.keeper == nil && ctx.Err() == nil {
		err = l.ask(ctx) // most often it was a connection that had died
	}
	return err
}

// ask makes one request, if there is still somebody to ask.
func (l *Lease) ask(ctx context.Context) error {
	c := l.client
	c.mu.Lock()
	err := l.outcome() // Close may have given up waiting for us
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return inner(l.giveUp(ctx))
}

// giveUp asks the server to free l's key. Its results are those of
// Session.Release. It counts the request among those that may have freed the key
// until it is known that this one has not.
func (l *Lease) giveUp(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.asked.Add(1)
	err := l.free(ctx)
	if errors.Is(err, ErrLost) || isRefused(err) {
		l.asked.Add(-1)
	}
	return err
}

var (
	errBusy  = errors.New("a renewal under way was not answered")
	errOther = errors.New("another release under way was not answered")
)

// settleRelease judges the answer of a release.
func (l *Lease) settleRelease(err error) error {
	c := l.client
	c.mu.Lock()
	defer c.unlock()
	first := !l.doubtful
	switch {
	case err == nil, errors.Is(err, ErrLost) && l.asked.Load() > 0 && c.now() < l.validUntil():
		err = nil // another request for it was carried out
		l.released = true
	case errors.Is(err, ErrLost):
		l.lostErr = &Error{Op: "release", Backend: c.info.Name, Key: l.hold.Key, Err: err}
		err = l.lostErr
	default:
		l.doubtful = true
		if first {
			c.cleanHold(l, 0)
		}
	}
	if first {
		c.handOver(l)
	} else {
		c.freed(l.hold.Key)
	}
	c.dropUse(l.session)
	delete(c.leases, l)
	close(l.releasing)
	l.releasing = nil
	return err
}
