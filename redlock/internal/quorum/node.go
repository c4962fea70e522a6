// Package quorum is the protocol of redlock: how the answers of independent
// nodes become one grant, one renewal and one release. It knows no network and
// has no clock of its own, so that the same code runs over Redis and in a
// simulation.
package quorum

import (
	"time"

	"github.com/distlock-go/distlock"
)

// A Node is one of the servers. Its methods are safe for concurrent use.
type Node interface {
	// Name tells the node from others in errors.
	Name() string
	// Ready reports whether an answer can be expected soon. Others are asked
	// only where those that are ready do not make a majority.
	Ready() bool
	// Trouble is why the last request had no answer, or nil if it had one.
	Trouble() error
	// Do sends r and returns at once. Answer is called exactly once, later and
	// not by the caller's goroutine. A request may arrive late, twice or never,
	// whatever the answer was.
	Do(r Request, answer func(Answer))
}

// A Clock is the client's own time.
type Clock interface {
	Now() distlock.Instant
	// After calls f once d has passed, unless stop was called before.
	After(d time.Duration, f func()) (stop func())
}

// A Lock is one owner's acquisition of one key. It does not change.
type Lock struct {
	Key    string
	Owner  distlock.Owner
	Holder string
	Terms  distlock.Terms
}

// An Op is what a node is asked to do, in one step.
type Op int

const (
	// Acquire takes the key for the owner if nobody has it, and mints a token
	// that is larger than the node's counter, which it becomes.
	Acquire Op = iota
	// Confirm raises the node's counter to the token if the owner has the key
	// and the counter is not larger. The node remembers the token as final.
	Confirm
	// Renew gives the owner the full lifetime anew if it has the key.
	Renew
	// Repair takes the key for the owner if nobody has it, with a token that is
	// final, and raises the counter to that.
	Repair
	// Release deletes the key if the owner has it.
	Release
)

// A Request is for one node.
type Request struct {
	Op    Op
	Lock  *Lock
	Token distlock.Token // of Confirm and Repair; else the final one that the node has, or 0
	// Exact says that the node is known to have the key under Token, so that
	// the whole value can be compared. Otherwise the owner alone is known.
	Exact bool
	// Quiet says that nobody waits for what is released.
	Quiet bool
	// Wanted reports whether the request, if it has not been sent, still should.
	// Nil is always.
	Wanted func() bool
}

// A Verdict is what a request to a node has come to.
type Verdict int

const (
	// Failed is unknown: there was no answer, and the request may have been or
	// may yet be carried out. Answer.Err says why.
	Failed Verdict = iota
	// Declined is an error after which nothing was or will be done: the node's
	// own, or that it could not be reached. Answer.Err says which.
	Declined
	// Done: what the Op says.
	Done
	// Again, of Acquire: the owner had the key before.
	Again
	// Refused: another owner has the key; of Confirm, the counter is larger.
	Refused
	// Gone: the owner does not have the key.
	Gone
	// Young, of Acquire: the node may have lost data a short while ago.
	Young
)

// An Answer is a node's.
type Answer struct {
	Verdict Verdict
	Token   distlock.Token // of Done and Again to Acquire: the node's counter
	Final   distlock.Token // of Again: the token that was confirmed, or 0
	Rest    time.Duration  // of Refused and Young: for how long, if known
	Other   string         // of Refused: who has the key, comparable only; a secret
	// Doubt says that a copy of the request may arrive later.
	Doubt bool
	Err   error // of Failed and Declined
}

// granted reports whether the owner has the key by an answer to Acquire.
func (a Answer) granted() bool { return a.Verdict == Done || a.Verdict == Again }
