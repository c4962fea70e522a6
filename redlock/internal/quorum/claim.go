package quorum

import (
	"sync"
	"sync/atomic"

	"github.com/distlock-go/distlock"
)

// A Claim is one acquisition on all nodes, from the first request to the last
// answer: what each node is known to have of it, and what is under way.
type Claim struct {
	set    *Set
	unseen bool // its acquisition was not seen: see Unseen

	// over: lost, given up or released. Whatever a node turns out to have of it
	// is released there. Set under mu; read without it by Wanted.
	over atomic.Bool

	mu      sync.Mutex // guards all below
	lock    *Lock      // another one after a renewal with other terms
	seats   []seat     // by node
	acquire *round     // nil once it is decided and all have answered
	confirm *round     // of a fenced claim, from a majority on; as acquire
	release *round     // the last one
	token   distlock.Token
	sent    distlock.Instant // the acquisition
	until   distlock.Instant // the majority is ours at least until then
	given   bool             // a release has succeeded
	after   []func()         // calls to make when mu is free
}

// A seat is what one node has of a claim.
type seat struct {
	token   distlock.Token // its counter when it granted
	final   distlock.Token // the token it has confirmed
	has     has
	flying  int16 // requests under way that can give it the key
	inexact bool  // it may have confirmed one without our knowing
	doubt   bool  // a copy of a request may still arrive there
	freed   bool  // it has deleted the key
}

// has is whether a node has the key for the owner.
type has uint8

const (
	no has = iota
	maybe
	yes
)

// Token is the grant's, or 0.
func (c *Claim) Token() distlock.Token {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// Is reports whether the claim is owner's.
func (c *Claim) Is(key string, owner distlock.Owner) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lock.Key == key && c.lock.Owner == owner
}

// unlock frees mu and makes the calls that had to wait for that.
func (c *Claim) unlock() {
	after := c.after
	c.after = nil
	c.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// note takes in what node i answered to r. c.mu is held.
func (c *Claim) note(r *round, i int, a Answer) {
	s := &c.seats[i]
	s.doubt = s.doubt || a.Doubt
	switch r.op {
	case Acquire, Repair:
		s.flying--
		c.noteTaken(r.op, i, a)
	case Confirm:
		c.noteConfirmed(s, a)
	case Renew:
		switch {
		case a.Verdict == Done:
			s.has = yes
		case a.Verdict == Gone && s.flying == 0:
			s.has = no
		}
	case Release:
		c.noteReleased(r, i, a)
		return
	}
	if c.over.Load() && s.flying == 0 {
		c.clear(i)
	}
}

// noteTaken takes in an answer after which the node may have the key.
func (c *Claim) noteTaken(op Op, i int, a Answer) {
	s := &c.seats[i]
	switch {
	case a.granted():
		s.has, s.token, s.final = yes, a.Token, a.Final
		if op == Repair {
			s.final, s.inexact = c.token, false
		}
	case a.Verdict == Failed && s.has == no:
		s.has = maybe
	}
	if op == Acquire && c.confirm != nil && !c.over.Load() {
		c.confirmAt(i) // a late grant: let the next majority meet the token here, too
	}
}

// noteConfirmed takes in an answer to Confirm.
func (c *Claim) noteConfirmed(s *seat, a Answer) {
	switch a.Verdict {
	case Done:
		s.final, s.inexact = c.token, false
	case Failed:
		s.inexact = true
	case Gone:
		s.has = no
	}
}

// clear releases what node i has or may have of a claim that is over. Nothing is
// under way there that could bring it back. c.mu is held.
func (c *Claim) clear(i int) {
	if c.release != nil && c.release.votes[i].state == asked {
		return // see noteReleased
	}
	if s := &c.seats[i]; s.has != no || s.doubt {
		c.set.undo(i, c.releaseRequest(i, true), s.has == maybe || s.doubt)
		s.has = no
	}
}

// slim forgets the rounds of the acquisition once nothing more can come of them:
// a lease may be held for long.
func (c *Claim) slim() {
	for _, r := range []*round{c.acquire, c.confirm} {
		if r != nil && (!r.decided || r.in(asked) > 0) {
			return
		}
	}
	c.acquire, c.confirm = nil, nil
}

// end makes the claim over and clears what is at rest. c.mu is held.
func (c *Claim) end() {
	c.over.Store(true)
	for i := range c.seats {
		if c.seats[i].flying == 0 {
			c.clear(i)
		}
	}
}

// wanted is Request.Wanted of requests that take the key.
func (c *Claim) wanted() bool { return !c.over.Load() }
