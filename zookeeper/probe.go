package zookeeper

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/pause"
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
// of life at the latest when a later request has come back that went through it and was
// sent a tick after the probe's answer. A sync will do for that: if a leader that is cut
// off answers it, the next one has been chosen after the probe.
type pulse struct {
	tick  time.Duration
	mu    sync.Mutex // guards all below
	open  []beat     // answered, in that order; not yet known to have arrived at the leader
	since time.Duration
	known bool
}

// A beat is one probe that was answered.
type beat struct{ sent, answered time.Duration }

// add notes a write that was answered.
func (p *pulse) add(b beat) {
	p.confirm(b.sent)
	p.mu.Lock()
	p.open = append(p.open, b)
	p.mu.Unlock()
}

// confirm notes that a request was answered which went through the leader, by when it
// was sent.
func (p *pulse) confirm(sent time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.open) > 0 && p.open[0].answered+p.tick <= sent {
		p.since, p.known = max(p.since, p.open[0].sent), true
		p.open = p.open[1:]
	}
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

// KeepAlive sends a probe and what confirms it, over other connections if this one is
// silent. It returns the time of the last probe that is confirmed: see pulse.
func (s *session) KeepAlive(ctx context.Context, at distlock.Instant) (distlock.Instant, error) {
	called := now()
	before, _ := s.pulse.last()
	err := s.renew(ctx)
	for isBroken(err) && ctx.Err() == nil {
		err = s.renew(ctx)
	}
	since, known := s.pulse.last()
	switch {
	case err != nil && since == before:
		return at, s.judge(err)
	case !known:
		return at.Add(-s.lifetime), nil // nothing new
	}
	return at.Add(min(since-called, 0)), nil
}

// renew sends a probe, and confirms it when that can be. Where ticks are long beside the
// TTL, the next of the probes of keepBeating does.
func (s *session) renew(ctx context.Context) error {
	if err := s.probe(ctx); err != nil || s.beatsOften() {
		return err
	}
	if err := pause.For(ctx, s.backend.opts.Tick); err != nil {
		return err
	}
	sent, err := s.ask(ctx, func() error { _, err := s.zk.Sync(s.backend.opts.Root); return err })
	if err == nil {
		s.pulse.confirm(sent)
	}
	return err
}

// probe sends one.
func (s *session) probe(ctx context.Context) error {
	sent, err := s.ask(ctx, func() error { return agree(s.zk, s.backend.opts.Root) })
	if err == nil {
		s.pulse.add(beat{sent, now()})
	}
	return err
}

// ask sends a request. A connection that was there before and brings no answer in time
// is given up; one that was made since may need longer.
func (s *session) ask(ctx context.Context, request func() error) (sent time.Duration, err error) {
	pctx, cancel := context.WithTimeout(ctx, patience(s.terms))
	defer cancel()
	over := s.link.now()
	sent = now()
	_, err = call(pctx, s, func() (struct{}, error) { return struct{}{}, request() })
	if err != nil && pctx.Err() != nil && ctx.Err() == nil {
		over.cut()
		err = errSilent
	}
	return sent, err
}

// keepBeating sends probes besides the core's where an interval has no room for a tick
// and two answers: each that KeepAlive can return is then a tick old, and a whole
// interval on top would be too much. It ends with the session.
func (s *session) keepBeating() {
	ticker := time.NewTicker(s.interval() / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_ = s.probe(context.Background()) // KeepAlive will meet the same error
		case <-s.over:
			return
		}
	}
}

// beatsOften reports whether the session needs keepBeating.
func (s *session) beatsOften() bool { return s.interval() < s.backend.opts.Tick*3/2 }
