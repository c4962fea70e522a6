package quorum

import (
	"errors"

	"github.com/distlock-go/distlock"
)

// Release deletes the claim on all nodes, and calls done once with the outcome:
// nil if it was there and is not on so many that others can have the key, an
// error that matches distlock.ErrLost if a majority had nothing of it, whoever
// answers first, another if too few have answered, marked by distlock.Refused if
// nothing was deleted and nothing will be unless the caller asks again. A node with a
// request under way that may yet give it the key is asked like the others, since it
// mostly sees both in their order; if that request turns out to be granted later, it
// is released again. What was not answered is tried again behind, until it is or the
// grant has expired there.
//
// Of a claim that was not seen, one node that had something of it is enough
// for nil.
func (c *Claim) Release(done func(error)) {
	c.mu.Lock()
	defer c.unlock()
	if c.given {
		c.after = append(c.after, func() { done(distlock.ErrLost) })
		return
	}
	c.over.Store(true)
	r := c.newRound(Release, done)
	r.decide = r.decideRelease
	c.release = r
	ready := c.set.ready()
	for i := range c.seats {
		s := &c.seats[i]
		switch {
		case !ready[i] && (s.has != no || s.flying > 0):
			r.set(i, Answer{Verdict: Declined, Err: errNotReady})
		default:
			c.releaseAt(r, i)
		}
	}
	if !r.decided {
		r.decide()
	}
}

// errNotReady is of a node that has not answered lately.
var errNotReady = errors.New("not asked, as it has not answered lately")

// releaseAt asks node i, unless it is known to have nothing. c.mu is held.
func (c *Claim) releaseAt(r *round, i int) {
	s := &c.seats[i]
	switch {
	case s.freed:
		r.set(i, Answer{Verdict: Done})
	case s.has == no && s.flying == 0 && !s.doubt:
		r.set(i, Answer{Verdict: Gone})
	default:
		r.ask(i)
	}
}

// noteReleased takes in node i's answer to r. c.mu is held.
func (c *Claim) noteReleased(r *round, i int, a Answer) {
	s := &c.seats[i]
	doubt := s.has == maybe || s.doubt
	flying := s.flying > 0 // see clear
	switch a.Verdict {
	case Done:
		s.has, s.freed = no, true
		if s.doubt && !flying {
			c.set.undo(i, c.releaseRequest(i, true), true)
		}
	case Gone: // which may have overtaken the grant
		again := doubt && !c.unseen || s.has == yes
		s.has = no
		if again && !flying { // the core asks again for what was not seen
			c.set.undo(i, c.releaseRequest(i, true), doubt)
		}
	case Declined:
		if r.decided { // else see settle
			c.owe(i)
		}
	default:
		c.owe(i)
	}
}

// owe has node i asked again behind, until it has answered. c.mu is held.
func (c *Claim) owe(i int) { c.set.undo(i, c.releaseRequest(i, false), true) }

func (c *Claim) releaseRequest(i int, quiet bool) Request {
	req := c.request(Release, i)
	req.Quiet = quiet
	return req
}

// decideRelease looks what the answers have come to. c.mu is held.
func (r *round) decideRelease() {
	c := r.claim
	n, quorum := len(c.seats), c.set.Quorum
	deleted := r.count(func(a Answer) bool { return a.Verdict == Done })
	gone := r.count(func(a Answer) bool { return a.Verdict == Gone })
	free := deleted+gone > n-quorum
	switch {
	case deleted >= quorum, c.unseen && free && deleted > 0:
		r.settle(nil)
	case gone > n-quorum:
		r.settle(distlock.ErrLost)
	case free && !c.unseen && gone+r.in(asked) <= n-quorum: // no longer to be found lost
		r.settle(nil)
	case r.in(asked) > 0:
	case r.isUntouched():
		r.close(distlock.Refused(r.said()))
	default:
		r.settle(r.said())
	}
}

// settle decides a release, and has those nodes asked again behind that would not
// carry it out. Where none has done anything that is left to the caller: what went on
// behind would free the key after it was told that nothing has. c.mu is held.
func (r *round) settle(err error) {
	r.claim.given = r.claim.given || err == nil
	r.close(err)
	for i, v := range r.votes {
		if v.state == answered && v.answer.Verdict == Declined {
			r.claim.owe(i)
		}
	}
}
