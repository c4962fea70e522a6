// Package model says in Go what one node of redlock does with requests about
// one key. Tests compare it with real servers, and simulate on it.
package model

import (
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
)

// A Node is a server's memory of one key, and its rules. The zero value is an
// empty server.
type Node struct {
	Fenced bool
	Delay  time.Duration // Options.RestartDelay

	// What can be wrong with it.
	NoWriteBack bool // it acknowledges a token and does not keep it
	NoOwner     bool // it does not compare owners

	Owner   distlock.Owner // has the lock until Expires, in milliseconds; zero: nobody
	Final   distlock.Token // confirmed
	Expires int64
	Counter distlock.Token
	Since   int64 // microseconds; 0: not known
}

// Lose is a restart without memory, or FLUSHALL.
func (n *Node) Lose() {
	n.Owner, n.Final, n.Expires, n.Counter, n.Since = distlock.Owner{}, 0, 0, 0, 0
}

// Apply carries r out at now, the server's clock in microseconds.
func (n *Node) Apply(r quorum.Request, now int64) quorum.Answer {
	if n.Expires <= now/1000 {
		n.Owner = distlock.Owner{}
	}
	free := n.Owner == distlock.Owner{}
	own := n.Owner == r.Lock.Owner || n.NoOwner && !free && r.Op != quorum.Acquire
	switch r.Op {
	case quorum.Acquire:
		return n.acquire(r, own, free, now)
	case quorum.Repair:
		return n.repair(r, own, free, now)
	}
	if !own {
		return quorum.Answer{Verdict: quorum.Gone}
	}
	switch r.Op {
	case quorum.Confirm:
		if n.NoWriteBack {
			break
		}
		if n.Counter > r.Token {
			return quorum.Answer{Verdict: quorum.Refused}
		}
		n.Counter, n.Final = r.Token, r.Token
	case quorum.Renew:
		n.Expires = end(r, now)
	case quorum.Release:
		n.Owner = distlock.Owner{}
	}
	return quorum.Answer{Verdict: quorum.Done}
}

func (n *Node) acquire(r quorum.Request, own, free bool, now int64) quorum.Answer {
	switch {
	case n.young(now):
		return quorum.Answer{Verdict: quorum.Young}
	case own:
		return quorum.Answer{Verdict: quorum.Again, Token: n.Counter, Final: n.Final}
	case !free:
		return quorum.Answer{Verdict: quorum.Refused, Other: n.Owner.Text()}
	}
	if n.Fenced {
		n.Counter = max(n.Counter+1, distlock.Token(now))
	}
	n.Owner, n.Final, n.Expires = r.Lock.Owner, 0, end(r, now)
	return quorum.Answer{Verdict: quorum.Done, Token: n.Counter}
}

func (n *Node) repair(r quorum.Request, own, free bool, now int64) quorum.Answer {
	n.young(now)
	switch {
	case own:
	case !free:
		return quorum.Answer{Verdict: quorum.Refused}
	default:
		if n.Fenced {
			n.Counter = max(n.Counter, r.Token)
		}
		n.Owner, n.Final, n.Expires = r.Lock.Owner, r.Token, end(r, now)
	}
	return quorum.Answer{Verdict: quorum.Done}
}

// end is when a lifetime that begins now is over.
func end(r quorum.Request, now int64) int64 {
	return now/1000 + r.Lock.Terms.Lifetime().Milliseconds()
}

// young reports whether the data are younger than Delay, and notes since when
// they are there.
func (n *Node) young(now int64) bool {
	if n.Delay == 0 {
		return false
	}
	if n.Since == 0 || n.Since > now {
		n.Since = now
	}
	return now-n.Since < n.Delay.Microseconds()
}
