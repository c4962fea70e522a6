package distlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// maxBatch is how many leases one call of Renew gets. Chunks go side by side,
// so that a server that hangs holds up only the leases that are in its chunk,
// and a release waits for no more than one.
const maxBatch = 500

// batches are the renewals that are due together. A Keeper's session stands
// without leases: it is renewed as a whole.
type batches map[*session][]*Lease

// A chunk is one call of Renew.
type chunk struct {
	session *session
	leases  []*Lease
	done    chan struct{} // closed when the answers have been judged
}

// chunks cuts b up and notes in each lease that it is under way. c.mu is held.
func (b batches) chunks() []*chunk {
	var all []*chunk
	for s, leases := range b {
		if s.keeper != nil {
			all = append(all, &chunk{session: s})
			continue
		}
		for len(leases) > 0 {
			n := min(len(leases), maxBatch)
			ch := &chunk{session: s, leases: leases[:n:n], done: make(chan struct{})}
			for _, l := range ch.leases {
				l.inflight = ch.done
			}
			all, leases = append(all, ch), leases[n:]
		}
	}
	return all
}

// send renews each chunk in a goroutine of its own that lasts for the call.
func (c *Client) send(chunks []*chunk) {
	for _, ch := range chunks {
		if ch.leases == nil {
			c.spawn(ch.session.keepAlive)
		} else {
			c.spawn(func() { c.renew(ch) })
		}
	}
}

// renew sends one chunk and judges each answer against its own lease's
// deadline.
func (c *Client) renew(ch *chunk) {
	leases, holds, bound := c.stillKept(ch)
	var results []error
	sent := c.now()
	if len(holds) > 0 {
		ctx, cancel := context.WithTimeout(c.base, bound)
		results = ch.session.renewer.Renew(ctx, holds)
		cancel()
		if len(results) != len(holds) {
			err := fmt.Errorf("backend %s: %d results for %d renewals", c.info.Name, len(results), len(holds))
			results = slices.Repeat([]error{err}, len(holds))
		}
	}
	var infos []RenewInfo
	c.mu.Lock()
	now := c.now()
	for _, l := range ch.leases {
		l.inflight = nil
	}
	for i, l := range leases {
		err := results[i]
		if l.kept && c.trace.Renewed != nil {
			infos = append(infos, RenewInfo{
				Backend: c.info.Name, Key: l.hold.Key,
				Took: now.Sub(sent), Late: sent.Sub(l.due), Left: l.validUntil().Sub(now), Err: err,
			})
		}
		c.judge(l, sent, now, err)
	}
	close(ch.done)
	c.unlock()
	for _, i := range infos {
		c.trace.Renewed(i)
	}
}

// stillKept returns the leases of ch that nobody has released meanwhile, and
// how long their renewal may take: a third of the shortest TTL, so that there
// is time for another one.
func (c *Client) stillKept(ch *chunk) (leases []*Lease, holds []Hold, bound time.Duration) {
	c.mu.Lock()
	defer c.unlock()
	holds = make([]Hold, 0, len(ch.leases))
	leases = ch.leases[:0:0]
	for _, l := range ch.leases {
		if !l.kept {
			continue
		}
		leases, holds = append(leases, l), append(holds, l.hold)
		if third := renewEvery(l.hold.Terms.TTL); bound == 0 || third < bound {
			bound = third
		}
	}
	return leases, holds, bound
}

// judge takes one answer of a renewal that was sent at sent. c.mu is held.
func (c *Client) judge(l *Lease, sent, now Instant, err error) {
	ttl := l.hold.Terms.TTL
	switch {
	case !l.kept:
		return
	case now >= l.validUntil(): // too late: it revives nothing
		c.lose(l, lost(noAnswer(err)), true)
		return
	case err == nil:
		l.own.Store(int64(sent.Add(ttl - drift(ttl))))
		l.due, l.lastErr, l.warned = sent.Add(renewEvery(ttl)), nil, false
	case errors.Is(err, ErrLost):
		c.lose(l, lost(err), false)
		return
	default:
		l.due, l.lastErr = now.Add(retryAfter(ttl)), err
	}
	l.reschedule()
}
