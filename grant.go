package distlock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// newLease makes the lease that the attempt is for. A Keeper's session knows
// it from now on, so that word of its loss can overtake the grant's answer.
func (c *Client) newLease(a *acquisition, s *session) *Lease {
	l := &Lease{
		client: c, session: s, done: make(chan struct{}), renews: a.set.renew, warn: a.set.warn,
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
	gaveUp := ended(ctx) // before mu is locked: it may be a lease's own context, which asks us
	c.mu.Lock()
	defer c.unlock()
	now := c.now()
	s, ttl := l.session, l.hold.Terms.TTL
	l.bound(set, sent, now)
	switch {
	case gaveUp != nil:
		return gaveUp
	case c.isClosing():
		return ErrClosed
	case l.lostErr != nil || s.over:
		return errSessionOver
	case set.maxHold > 0 && now.Sub(l.granted) >= set.maxHold:
		return fmt.Errorf("granted too late: the answer took %v of a max-hold of %v", now.Sub(sent), set.maxHold)
	case Instant(l.until.Load()).Sub(now) >= minLeft(l.renewable()):
	case s.keeper != nil:
		return errStaleSession
	default:
		return fmt.Errorf("granted too late: the answer took %v of a TTL of %v", now.Sub(sent), ttl)
	}
	l.kept = true
	if set.minHold > 0 {
		l.minUntil = sent.Add(set.minHold)
	}
	l.due = l.granted.Add(renewEvery(ttl))
	c.leases[l] = struct{}{}
	c.takeOver(l)
	l.reschedule()
	if s.warned {
		c.warnOf(l, now, s.lastErr) // it came too late for that of the others
	}
	return nil
}

// renewable is the TTL that a renewal brings: that of a Keeper's session can be
// shorter than the one asked for.
func (l *Lease) renewable() time.Duration {
	if l.session.keeper != nil {
		return l.session.ttl
	}
	return l.hold.Terms.TTL
}

// bound sets the deadlines of a grant that was asked for at sent.
func (l *Lease) bound(set *settings, sent, now Instant) {
	l.granted = sent
	if l.session.keeper != nil {
		l.granted = now // it may have stood in a queue; what it lives by is the session
	}
	ttl := l.hold.Terms.TTL
	end := l.granted.Add(ttl - drift(ttl))
	l.own.Store(int64(end))
	l.limit = forever
	if !set.renew {
		l.limit = end
	}
	if d := set.maxHold; d > 0 && d < forever.Sub(l.granted) {
		l.limit = min(l.limit, l.granted.Add(d))
	}
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
