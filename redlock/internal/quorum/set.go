package quorum

import (
	"sync"
	"time"
)

// A Set is nodes of which a majority decides.
type Set struct {
	Nodes  []Node
	Quorum int  // how many are enough
	Fenced bool // grants carry a token
	// Timeout is how long a decision about an acquisition waits for a node.
	Timeout time.Duration
	Clock   Clock

	mu     sync.Mutex // guards all below
	debts  map[debtKey]*debt
	closed bool
}

// Majority is the smallest number of n nodes of which two sets always share one.
func Majority(n int) int { return n/2 + 1 }

// hedge is the part of Timeout after which nodes that are not ready are asked
// too, if there is no decision.
func (s *Set) hedge() time.Duration { return s.Timeout / 4 }

// ready returns which nodes to ask first: those that are ready, or all where
// these are no majority.
func (s *Set) ready() []bool {
	ask, n := make([]bool, len(s.Nodes)), 0
	for i, node := range s.Nodes {
		if ask[i] = node.Ready(); ask[i] {
			n++
		}
	}
	if n < s.Quorum {
		for i := range ask {
			ask[i] = true
		}
	}
	return ask
}

// validity is how long a lifetime that begins when the request is sent is good
// for: the server's clock may go faster by 1 %, and its unit is a millisecond.
func validity(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// newClaim returns a claim that has asked for nothing.
func (s *Set) newClaim(l Lock) *Claim {
	return &Claim{set: s, lock: &l, seats: make([]seat, len(s.Nodes))}
}

// Unseen returns the claim of an acquisition whose outcome nobody here has
// seen: each node may have it.
func (s *Set) Unseen(l Lock) *Claim {
	c := s.newClaim(l)
	for i := range c.seats {
		c.seats[i].has = maybe
	}
	c.unseen = true
	return c
}
