package distlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// untilFrom is the end of what a lifetime that began at from is good for.
func (s *session) untilFrom(from Instant) Instant {
	return from.Add(s.ttl - drift(s.ttl))
}

// notified is called by the backend with an early word of loss.
func (s *session) notified(owner Owner, cause error) {
	c := s.client
	c.mu.Lock()
	defer c.unlock()
	if s.over {
		return
	}
	if owner == (Owner{}) {
		c.finish(s, lost(cause), s.delayOwed())
		return
	}
	if l := s.leases[owner]; l != nil {
		c.lose(l, lost(cause), false)
	}
}

func (s *session) slot() *slot { return &s.place }

// fire ends a Keeper's session that has run out or has been idle for one TTL,
// or has it renewed.
func (s *session) fire(now Instant, b batches) {
	c := s.client
	switch {
	case now >= Instant(s.until.Load()):
		c.finish(s, lost(noAnswer(s.lastErr)), s.delayOwed())
		return
	case s.users == 0 && now >= s.idle.Add(s.terms.TTL):
		c.finish(s, nil, 0)
		return
	case s.ahead(now):
		s.renewing = true
		b[s] = nil
	}
	if !s.warned && now >= s.warnAt() {
		s.warnAll(now)
	}
	s.reschedule()
}

func (s *session) ahead(now Instant) bool {
	return !s.renewing && s.due.Add(-early(s.ttl)) <= now
}

// reschedule puts s where it next wants to be looked at. Client.mu is held.
func (s *session) reschedule() {
	at := Instant(s.until.Load())
	if !s.renewing {
		at = min(at, s.due)
	}
	if !s.warned {
		at = min(at, s.warnAt())
	}
	if s.users == 0 {
		at = min(at, s.idle.Add(s.terms.TTL))
	}
	s.client.schedule(s, at)
}

// keepAlive sends one renewal of a Keeper's session and judges the answer.
func (s *session) keepAlive() {
	c := s.client
	c.mu.Lock()
	over := s.over
	c.mu.Unlock()
	if over {
		return
	}
	ctx, cancel := context.WithTimeout(c.base, renewEvery(s.ttl))
	defer cancel()
	sent := c.now()
	from, err := s.keeper.KeepAlive(ctx, sent)
	late, left := s.judge(sent, min(from, sent), err)
	if c.trace.Renewed != nil {
		c.trace.Renewed(RenewInfo{Backend: c.info.Name, Took: c.now().Sub(sent), Late: late, Left: left, Err: err})
	}
}

// judge takes the answer of a renewal that was sent at sent: the lifetime runs
// anew since from. It returns how late it was sent and the validity left.
func (s *session) judge(sent, from Instant, err error) (late, left time.Duration) {
	c := s.client
	c.mu.Lock()
	defer c.unlock()
	now := c.now()
	late, left = sent.Sub(s.due), Instant(s.until.Load()).Sub(now)
	s.renewing = false
	close(s.answered)
	s.answered = make(chan struct{})
	switch {
	case s.over:
	case left <= 0:
		c.finish(s, lost(noAnswer(err)), s.delayOwed())
	case err == nil:
		s.until.Store(max(s.until.Load(), int64(s.untilFrom(from))))
		s.renewed, s.due, s.lastErr = sent, sent.Add(renewEvery(s.ttl)), nil
		s.recovered()
		s.reschedule()
	case errors.Is(err, ErrLost):
		c.finish(s, lost(err), s.delayOwed())
	default:
		s.due, s.lastErr = now.Add(retryAfter(s.ttl)), err
		s.reschedule()
	}
	return late, left
}

// sessionGone ends a session of which an attempt has learned that it is gone.
func (c *Client) sessionGone(s *session, err error) {
	c.mu.Lock()
	c.finish(s, lost(err), s.delayOwed())
	c.unlock()
}

// fresh waits until s has enough validity left to hand over a lease.
func (s *session) fresh(ctx context.Context) error {
	if s.keeper == nil {
		return nil
	}
	c := s.client
	for {
		c.mu.Lock()
		now := c.now()
		if s.over {
			c.unlock()
			return errSessionOver
		}
		if Instant(s.until.Load()).Sub(now) >= minLeft(s.ttl) {
			c.unlock()
			return nil
		}
		if !s.renewing && s.lastErr == nil && s.due > now {
			s.due = now
			s.reschedule()
		}
		answered := s.answered
		c.unlock()
		select {
		case <-answered:
		case <-s.ctx.Done():
		case <-ctx.Done():
			return ended(ctx)
		case <-c.closing:
			return ErrClosed
		}
	}
}

// errSessionOver is met by a call whose session ended under it. The next
// attempt opens another.
var errSessionOver = errors.New("session ended during the call")

// delayOwed is how long what a dead session holds must stay on the server.
func (s *session) delayOwed() time.Duration {
	if len(s.leases) == 0 {
		return 0
	}
	return max(s.terms.LockDelay, 0)
}

// finish ends s for all its users: its leases are lost for cause, waits in its
// queue end, and after delay it is closed on the server. c.mu is held.
func (c *Client) finish(s *session, cause error, delay time.Duration) {
	if s.over {
		return
	}
	s.over = true
	c.removeSession(s)
	c.unschedule(s)
	for _, l := range s.leases {
		c.lose(l, cause, false)
	}
	c.after = append(c.after, func() { s.cancel(errSessionOver) })
	c.clean(&leftover{session: s}, delay)
}

// removeSession takes s off the map. c.mu is held.
func (c *Client) removeSession(s *session) {
	if c.sessions[s.key] == s {
		delete(c.sessions, s.key)
	}
}

// closeAPI ends the backend's session.
func (s *session) closeAPI(api Session) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeBound)
	defer cancel()
	return inner(api.Close(ctx))
}

// noAnswer is the cause of a loss by deadline.
func noAnswer(last error) error {
	if last == nil {
		return errNoAnswer
	}
	return fmt.Errorf("%w: %w", errNoAnswer, inner(last))
}

var errNoAnswer = errors.New("no renewal was answered before the deadline")
