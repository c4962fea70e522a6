package distlock

import "time"

// WithLossWarning has f called when the lease is in danger: renewals have
// failed, or have had no answer, for a third of the TTL. It is then valid for
// about another third, in which the holder can still stop cleanly, unless a
// renewal succeeds after all. If one does and they fail again later, f is
// called again.
//
// F is called in a background goroutine, outside of all locks, and not for two
// leases at a time. It must not block, panic or wait for Close: let it wake the holder. By the
// time it runs the lease may have recovered, or have ended: Deadline and Valid
// say. There is no warning of a loss that comes at once, such as that of a lock
// that was deleted or of a process that was stopped, nor of an end that was
// asked for (WithoutRenewal, WithMaxHold, Close).
func WithLossWarning(f func(lease *Lease)) Option {
	return Option{name: "WithLossWarning", apply: func(s *settings) error {
		if f == nil {
			return Invalid("loss warning", "nil", "a function")
		}
		s.warn = f
		return nil
	}}
}

// warnAt is when a holder is to be warned, unless a renewal succeeds before:
// renewals, due every third of the TTL, have failed for another third since
// the last one that succeeded was sent. A session whose lifetime began before
// that has less left; a sixth of the TTL is kept for the holder.
func warnAt(renewed, until Instant, ttl time.Duration) Instant {
	return min(renewed.Add(2*renewEvery(ttl)), until.Add(-ttl/6))
}

// warnAt is when the holder of a lease with a lifetime of its own is to be
// warned.
func (l *Lease) warnAt() Instant {
	ttl, until := l.hold.Terms.TTL, Instant(l.own.Load())
	return warnAt(until.Add(drift(ttl)-ttl), until, ttl)
}

// wantsWarning reports whether anybody would hear a warning of l that it can
// still come to. Client.mu is held.
func (l *Lease) wantsWarning() bool {
	return (l.warn != nil || l.client.trace.Warned != nil) && !l.warned &&
		l.renews && l.err == nil && Instant(l.until.Load()) < l.limit
}

// warnOf warns the holder of l, once. c.mu is held.
func (c *Client) warnOf(l *Lease, now Instant, last error) {
	if !l.kept || !l.wantsWarning() {
		return
	}
	l.warned = true
	i := WarnInfo{
		Backend: c.info.Name, Key: l.hold.Key, Token: l.hold.Token,
		Left: l.validUntil().Sub(now), Err: last,
	}
	c.report(func() {
		if c.trace.Warned != nil {
			c.trace.Warned(i)
		}
		if l.warn != nil {
			l.warn(l)
		}
	})
}

// warnAt is when the holders of a Keeper's session are to be warned.
func (s *session) warnAt() Instant { return warnAt(s.renewed, Instant(s.until.Load()), s.ttl) }

// recovered takes the warning back: a renewal has succeeded. Client.mu is held.
func (s *session) recovered() {
	if !s.warned {
		return
	}
	s.warned = false
	for _, l := range s.leases {
		l.warned = false
	}
}

// warnAll warns the holders of a Keeper's session. Client.mu is held.
func (s *session) warnAll(now Instant) {
	s.warned = true
	for _, l := range s.leases {
		s.client.warnOf(l, now, s.lastErr)
	}
}
