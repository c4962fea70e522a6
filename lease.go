package distlock

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// A Lease is one grant of a key. It is valid until it is released or lost. It
// is lost at the latest when its deadline passes without a renewal that the
// server confirmed; then Done is closed, by a timer that waits for no network
// call.
//
// Valid can say that the lease was valid a moment ago, not that it still is
// when a write arrives: hand Token to the resource, and let that refuse
// smaller ones. All methods are safe for concurrent use.
type Lease struct {
	client   *Client
	session  *session
	hold     Hold
	granted  Instant // when the request was sent; of a Keeper, when it was answered
	limit    Instant // no renewal extends validity past this
	renews   bool
	warn     func(*Lease) // see WithLossWarning; may be nil
	minUntil Instant      // until when the key stays taken, also after a release
	done     chan struct{}
	place    slot

	over  atomic.Bool   // err is set
	own   atomic.Int64  // an Instant: the deadline of a grant with a lifetime of its own
	until *atomic.Int64 // own, or the session's
	asked atomic.Int32  // requests to free the key that may have done so, or may yet

	// Guarded by Client.mu.
	err        error // what Err returns: ErrLost or ErrReleased, whichever came first
	lostErr    error // set when lost, also after Close has set err
	kept       bool  // handed over, and neither lost nor being released
	due        Instant
	inflight   chan struct{} // the renewal under way, closed at its end
	lastErr    error         // of the last renewal, if it failed
	warned     bool          // of the last renewals, which have failed
	releasing  chan struct{} // the Release under way, closed at its end
	released   bool          // a Release has returned nil
	releasedAt Instant       // when the first one began
	doubtful   bool          // a Release did not come to an answer
	contexts   map[*leaseContext]struct{}
}

// String names the key and the token.
func (l *Lease) String() string {
	return fmt.Sprintf("lease on %q with token %v", l.hold.Key, l.hold.Token)
}

// Format prints String for every verb: the owner id within is a secret.
func (l *Lease) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, l.String()) }

// Key returns the key.
func (l *Lease) Key() string { return l.hold.Key }

// Token returns the fencing token of the grant: larger than that of every
// earlier grant of the key, as far as the backend's Fencing level goes, and
// the same for the whole life of the lease. It is 0 with FencingNone.
func (l *Lease) Token() Token { return l.hold.Token }

// Deadline returns the time until which the lease is valid if no renewal
// succeeds. It moves with each renewal. It is for display and for time-outs:
// it is in wall clock time, Valid is not and decides.
func (l *Lease) Deadline() time.Time {
	now := time.Now() // before the other clock, so that the sum is never late
	return now.Add(l.validUntil().Sub(l.client.now()))
}

// Valid reports whether the lease is neither released nor past its deadline.
// Once false it stays false. It asks no server: it reads a clock that counts
// suspended time, in about 0.06 us, and after each jump of the wall clock once by
// a system call.
func (l *Lease) Valid() bool { return l.check() }

// validUntil is the deadline.
func (l *Lease) validUntil() Instant { return min(Instant(l.until.Load()), l.limit) }

// Done returns a channel that is closed when the lease ends. After the process
// was stopped or the machine suspended past the deadline, it is closed by the
// time Done returns.
func (l *Lease) Done() <-chan struct{} {
	l.check()
	return l.done
}

// Err returns nil while the lease is valid, and then an error that matches
// ErrLost or ErrReleased, whichever happened first, and stays the same.
func (l *Lease) Err() error {
	if l.check() {
		return nil
	}
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	return l.err
}

// check reports whether the lease is valid, and ends it if its deadline has
// passed unnoticed. The first look decides: a renewal that is being judged at
// this moment changes nothing any more.
func (l *Lease) check() bool {
	if l.over.Load() {
		return false
	}
	if l.client.now() < l.validUntil() {
		return true
	}
	l.client.mu.Lock()
	l.client.lose(l, l.outOfTime(), true)
	l.client.unlock()
	return false
}

func (l *Lease) slot() *slot { return &l.place }

// fire ends a lease that has run out, or has it renewed.
func (l *Lease) fire(now Instant, b batches) {
	if now >= l.validUntil() {
		l.client.lose(l, l.outOfTime(), true)
		return
	}
	if l.ahead(now) {
		b[l.session] = append(b[l.session], l)
		l.inflight = pendingChunk
	}
	if l.session.keeper == nil && now >= l.warnAt() {
		l.client.warnOf(l, now, l.lastErr)
	}
	l.reschedule()
}

// pendingChunk stands for a chunk that is being put together.
var pendingChunk = make(chan struct{})

func (l *Lease) ahead(now Instant) bool {
	return l.wantsRenewal() && l.due.Add(-early(l.hold.Terms.TTL)) <= now
}

// wantsRenewal reports whether a renewal of its own would do l any good.
func (l *Lease) wantsRenewal() bool {
	return l.renews && l.session.keeper == nil && l.inflight == nil && Instant(l.own.Load()) < l.limit
}

// reschedule puts l where it next wants to be looked at. A Keeper's session is
// looked at in the place of its leases. Client.mu is held.
func (l *Lease) reschedule() {
	at := l.limit
	if l.session.keeper == nil {
		at = l.validUntil()
		if l.wantsWarning() {
			at = min(at, l.warnAt())
		}
	}
	if l.wantsRenewal() {
		at = min(at, l.due)
	}
	if at != forever {
		l.client.schedule(l, at)
	}
}

// outOfTime is the cause with which l runs out.
func (l *Lease) outOfTime() error {
	switch {
	case l.validUntil() < l.limit:
		return lost(noAnswer(l.lastErr))
	case l.renews:
		return lost(errMaxHold)
	}
	return lost(errNotRenewed)
}

var (
	errMaxHold    = errors.New("held for as long as WithMaxHold allows")
	errNotRenewed = errors.New("one TTL has passed, WithoutRenewal")
)

// lose ends l as lost for cause, once. Leftover says that something of it may be
// on the server still. Of a lease that is being granted it is noted only, for
// grant to find. c.mu is held.
func (c *Client) lose(l *Lease, cause error, leftover bool) {
	if l.session.leases[l.hold.Owner] == l && !l.kept && l.err == nil { // word of loss before the grant's own answer
		l.lostErr = cause
		return
	}
	if !l.kept {
		return
	}
	l.lostErr = &Error{Op: "hold", Backend: c.info.Name, Key: l.hold.Key, Err: cause}
	c.end(l, l.lostErr)
	c.unkeep(l)
	c.handOver(l)
	if leftover {
		c.cleanHold(l, max(l.hold.Terms.LockDelay, 0))
	}
	c.dropUse(l.session)
	if c.trace.Lost != nil {
		i := LostInfo{
			Backend: c.info.Name, Key: l.hold.Key, Token: l.hold.Token,
			Held: c.now().Sub(l.granted), Cause: lossCause(cause), Err: l.lostErr,
		}
		c.report(func() { c.trace.Lost(i) })
	}
}

// end sets what Err says, once, and signals it. c.mu is held.
func (c *Client) end(l *Lease, err error) {
	if l.err != nil {
		return
	}
	l.err = err
	l.over.Store(true)
	close(l.done)
	for ctx := range l.contexts {
		c.after = append(c.after, func() { ctx.end(err) })
	}
	l.contexts = nil
}

// unkeep stops looking after l. c.mu is held.
func (c *Client) unkeep(l *Lease) {
	l.kept = false
	c.unschedule(l)
	delete(c.leases, l)
	delete(l.session.leases, l.hold.Owner)
}
