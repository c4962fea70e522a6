package quorum

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/distlock-go/distlock"
)

// Acquire asks all nodes for l and calls done once with the outcome, as soon as
// a majority has decided or cannot be had any more, by Timeout at the latest
// (twice that with tokens): nil, an error that matches distlock.ErrHeld, or one
// that tells of each node what it said. What slower nodes grant is the claim's
// if it won, and is released if it did not.
//
// With tokens, the grant is the second half of two. The first takes the lock on
// a majority, and each node answers with its counter, which it has raised. The
// token is the largest of these, and the second half writes it back: a node
// acknowledges if it still has the lock for this owner and its counter is not
// larger than the token, which it then becomes. A majority must.
//
// Why tokens grow: take two grants, and a node that acknowledged both and kept
// its counter in between. When it did the first, it had the lock for the first
// owner and its counter was the first token. When it did the second, it had the
// lock for the second owner. So between the two it granted the lock to the
// second owner, which raised the counter above the first token, and
// acknowledged only because the counter was not larger than the second token.
// Hence the second token is larger. Of two majorities one node at least is in
// both. Clocks, delays and expiry do not enter: they can break the exclusion,
// not the order.
//
// The order breaks only where each shared node has lost its counter. Then the
// node starts again from its clock, so the order lasts if no node's clock was
// ahead of the emptied one's by more than the time between the grants.
func (s *Set) Acquire(l Lock, done func(error)) *Claim {
	c := s.newClaim(l)
	c.mu.Lock()
	defer c.unlock()
	c.sent = s.Clock.Now()
	r := c.newRound(Acquire, done)
	r.decide = c.decideAcquire
	c.acquire = r
	left := s.Timeout
	expire := func() { r.expired = true }
	for i, ok := range s.ready() {
		if ok {
			r.ask(i)
		}
	}
	if r.in(idle) == 0 {
		r.timer(left, expire)
		return c
	}
	r.timer(s.hedge(), func() {
		r.askIdle()
		r.timer(left-s.hedge(), expire)
	})
	return c
}

// decideAcquire looks whether there is a majority. c.mu is held.
func (c *Claim) decideAcquire() {
	r, need := c.acquire, c.set.Quorum-c.acquire.count(Answer.granted)
	switch {
	case need <= 0:
		c.majority()
	case r.pending() >= need:
	case r.pending()+r.in(idle) >= need && !r.expired:
		r.askIdle()
	default:
		c.lose(r, r.refusal())
	}
}

// majority goes on from a majority of grants. c.mu is held.
func (c *Claim) majority() {
	r := c.acquire
	if !c.set.Fenced {
		c.win(r)
		return
	}
	done := r.done
	r.done = nil
	r.close(nil)
	c.token = r.token()
	c.confirm = c.newRound(Confirm, done)
	c.confirm.decide = c.decideConfirm
	for i := range c.seats {
		c.confirmAt(i)
	}
	c.confirm.timer(c.set.Timeout, func() { c.confirm.expired = true })
}

// token is the token of a majority: the largest of their counters, or the one
// that this owner was granted before.
func (r *round) token() (t distlock.Token) {
	var final distlock.Token
	for _, v := range r.votes {
		if v.state == answered && v.answer.granted() {
			t, final = max(t, v.answer.Token), max(final, v.answer.Final)
		}
	}
	if final != 0 {
		return final
	}
	return t
}

// confirmAt writes the token back to node i if it has the lock and will take
// it. c.mu is held.
func (c *Claim) confirmAt(i int) {
	s, r := &c.seats[i], c.confirm
	if s.has == yes && r.votes[i].state == idle && s.token <= c.token {
		r.ask(i)
	}
}

// decideConfirm looks whether a majority has the token. Late grants count too.
// c.mu is held.
func (c *Claim) decideConfirm() {
	r := c.confirm
	need := c.set.Quorum - r.count(func(a Answer) bool { return a.Verdict == Done })
	switch {
	case need <= 0:
		c.win(r)
	case r.expired || r.pending()+c.acquire.in(asked) < need:
		c.lose(r, r.refusal())
	}
}

// win hands the grant over. c.mu is held.
func (c *Claim) win(r *round) {
	c.until = c.sent.Add(validity(c.lock.Terms.TTL))
	r.close(nil)
}

// lose ends the claim. c.mu is held.
func (c *Claim) lose(r *round, err error) {
	c.token = 0
	c.acquire.decided = true
	certain := true
	for _, s := range c.seats {
		certain = certain && s.flying == 0 && s.has != maybe
	}
	if certain {
		err = distlock.Refused(err)
	}
	r.close(err)
	c.end()
}

// Abandon gives up an acquisition that nobody waits for any more, and reports
// whether it did: false says that it is decided, and done called or about to be.
func (c *Claim) Abandon() bool {
	c.mu.Lock()
	defer c.unlock()
	r := c.acquire
	if c.confirm != nil {
		r = c.confirm
	}
	if r == nil || r.decided {
		return false
	}
	r.done = nil
	c.lose(r, nil)
	return true
}

// refusal is the error of an acquisition that failed.
func (r *round) refusal() error {
	s := r.claim.set
	others := make(map[string]int)
	most, held := 0, 0
	var rests []time.Duration
	for _, v := range r.claim.acquire.votes {
		if a := v.answer; v.state == answered && a.Verdict == Refused {
			held++
			others[a.Other]++
			most = max(most, others[a.Other])
			rests = append(rests, a.Rest)
		}
	}
	granted := r.claim.acquire.count(Answer.granted)
	if r.op != Acquire || held == 0 || granted+held < s.Quorum {
		return r.said()
	}
	if len(s.Nodes)-granted-held+most < s.Quorum { // nobody can have it
		return distlock.Held(1 + rand.N(splitPause))
	}
	slices.Sort(rests)
	return distlock.Held(max(0, rests[max(0, min(len(rests), s.Quorum-granted)-1)]))
}

// splitPause bounds the pause after an attempt that split the nodes among
// several owners, so that none has it. The next ones should not meet again.
const splitPause = 12 * time.Millisecond
