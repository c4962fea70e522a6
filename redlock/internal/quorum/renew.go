package quorum

import "github.com/distlock-go/distlock"

// Renew asks all nodes to give the claim the full lifetime of t anew, and calls done
// once with the outcome: nil if a majority did, an error that matches
// distlock.ErrLost if a majority has nothing of it, when the rest is released, and
// another if neither can be known, marked by distlock.Refused if no node did or will.
// It waits for all nodes that may matter, without a time-out of its own.
//
// A node without the key, such as one that was restarted empty, gets it again,
// with the token, once a majority has confirmed that it has had it all along
// and before the time to which the last renewal is good. So at every moment
// one whole majority has the key for this owner, and a node that was given it
// again may be counted in the next renewal.
func (c *Claim) Renew(t distlock.Terms, done func(error)) {
	c.mu.Lock()
	defer c.unlock()
	if c.over.Load() {
		c.after = append(c.after, func() { done(distlock.ErrLost) })
		return
	}
	end := c.set.Clock.Now().Add(validity(t.TTL))
	if t != c.lock.Terms {
		l := *c.lock
		l.Terms = t
		c.lock = &l
		c.until = min(c.until, end) // a node may have the shorter lifetime from now on
	}
	r := c.newRound(Renew, done)
	r.decide = func() { r.decideRenew(end) }
	for i, ok := range c.set.ready() {
		if ok {
			r.ask(i)
		}
	}
	if r.in(idle) > 0 {
		r.timer(c.set.hedge(), r.askIdle)
	}
}

// decideRenew looks what the answers have come to. A majority is good until end. c.mu
// is held.
func (r *round) decideRenew(end distlock.Instant) {
	c := r.claim
	n, quorum := len(c.seats), c.set.Quorum
	kept := r.count(func(a Answer) bool { return a.Verdict == Done })
	gone := r.count(func(a Answer) bool { return a.Verdict == Gone })
	switch {
	case kept >= quorum:
		if now := c.set.Clock.Now(); now < c.until {
			c.until = max(c.until, end)
		}
		r.close(nil)
		for i := range r.votes {
			r.repair(i)
		}
	case gone > n-quorum:
		r.close(distlock.ErrLost)
		c.end() // a minority would keep it for all of its lifetime
	case kept+r.pending() < quorum && r.in(idle) > 0:
		r.askIdle()
	case r.pending()+r.in(idle) > 0:
	case r.isUntouched():
		r.close(distlock.Refused(r.said()))
	default:
		r.close(r.said())
	}
}

// repair gives node i the key again if it answered, to a renewal that
// succeeded, that it does not have it. c.mu is held.
func (r *round) repair(i int) {
	c := r.claim
	v, s := r.votes[i], &c.seats[i]
	if v.state != answered || v.answer.Verdict != Gone || s.flying > 0 || s.has == yes ||
		c.over.Load() || c.set.Clock.Now() >= c.until ||
		r.count(func(a Answer) bool { return a.Verdict == Done }) < c.set.Quorum {
		return
	}
	again := c.newRound(Repair, nil)
	again.decided = true // nobody waits for it
	again.ask(i)
}
