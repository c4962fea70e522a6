package zookeeper

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// A pulse tells since when the leader is known to have heard of the session.
//
// A server that is cut off from its leader goes on answering reads, and a leader that
// is cut off from its followers goes on answering syncs, until it has counted
// syncLimit ticks, which a slow machine makes longer than the followers' patience. So
// a probe is a write, which a majority has to take (see agree): whoever leads next has
// heard of it, and gives every session its whole time-out anew.
//
// While the leader stays the same even that says only that the way to it was open. A
// server passes on to its leader that a session is alive with its answers to the
// leader's pings, which come twice a tick: so the leader knows of the session's sign
// of life at the latest when a later probe has come back that was sent a tick after
// the answer to the first one.
type pulse struct {
	tick  time.Duration
	mu    sync.Mutex // guards all below
	open  []beat     // answered, in that order; not yet known to have arrived
	since time.Duration
	known bool
}

// A beat is one probe that was answered.
type beat struct{ sent, answered time.Duration }

// add notes an answer.
func (p *pulse) add(b beat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.open) > 0 && p.open[0].answered+p.tick <= b.sent {
		p.since, p.known = max(p.since, p.open[0].sent), true
		p.open = p.open[1:]
	}
	p.open = append(p.open, b)
}

// last returns the time from which the session's lifetime is known to run anew.
func (p *pulse) last() (since time.Duration, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.since, p.known
}

// interval is how often the core renews a session.
func (s *session) interval() time.Duration { return s.terms.TTL / 3 }

// patience is how long a server may say nothing before another is tried: half
// an interval, so that the other half is left for the other.
func patience(t distlock.Terms) time.Duration { return t.TTL / 6 }

// Lifetime is the time-out that the server granted.
func (s *session) Lifetime() time.Duration { return s.lifetime }

// KeepAlive sends a probe, over another connection if this one is silent. What
// it returns is the time of an earlier one: see pulse.
func (s *session) KeepAlive(ctx context.Context, at distlock.Instant) (distlock.Instant, error) {
	called := now()
	select {
	case s.renewing <- struct{}{}:
	default: // keepBeating is about to look
	}
	err := s.probe(ctx)
	for isBroken(err) && ctx.Err() == nil {
		err = s.probe(ctx)
	}
	if err != nil {
		return at, s.judge(err)
	}
	since, known := s.pulse.last()
	if !known {
		return at.Add(-s.lifetime), nil // nothing new
	}
	return at.Add(min(since-called, 0)), nil
}

// probe sends one. A connection that was there before and brings no answer in
// time is given up; one that was made since may need longer.
func (s *session) probe(ctx context.Context) error {
	pctx, cancel := context.WithTimeout(ctx, patience(s.terms))
	defer cancel()
	over := s.link.now()
	sent := now()
	_, err := call(pctx, s, func() (struct{}, error) { return struct{}{}, agree(s.zk, s.backend.opts.Root) })
	switch {
	case err == nil:
		s.pulse.add(beat{sent, now()})
	case pctx.Err() != nil && ctx.Err() == nil:
		over.cut()
		return errSilent
	}
	return err
}

// keepBeating sends probes besides the core's, most of them just so long before one of
// those that it confirms them: what KeepAlive returns is then a little older than a tick,
// and not a whole interval. It ends with the session.
func (s *session) keepBeating() {
	timer := time.NewTimer(s.pace())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			_ = s.judge(s.probe(context.Background())) // KeepAlive will meet the same error
		case <-s.renewing:
		case <-s.over:
			return
		}
		timer.Reset(s.pace())
	}
}

// pace is how long after a renewal, or a probe of its own, keepBeating sends the next one:
// a tick and a half before the next renewal, which can come a twelfth of the TTL early; or
// often, where an interval is not much longer than that.
func (s *session) pace() time.Duration {
	twelfth := s.terms.TTL / 12
	return max(s.interval()-twelfth-s.backend.opts.Tick*3/2, twelfth)
}
