package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
)

// sequencer checks s by c.
func (r *row) sequencer(c *distlock.Client, what, s string, want error) {
	r.Helper()
	r.is("CheckSequencer of "+what, c.CheckSequencer(r.within(r.patience()), s), want)
}

func sequencers(r *row) {
	a, b := r.lasting(), r.lasting()
	first := r.acquire(a, r.key)
	s := first.Sequencer()
	for _, c := range []*distlock.Client{a, b} {
		r.sequencer(c, "a grant that has the key", s, nil)
	}
	r.release(first)
	r.sequencer(b, "a released grant", s, distlock.ErrStale)
	second := r.acquire(b, r.key)
	r.sequencer(a, "a grant that was followed by another", s, distlock.ErrStale)
	r.sequencer(a, "the one that followed", second.Sequencer(), nil)
	if r.h.Delete != nil {
		r.remove(r.h.Delete, r.key)
		r.sequencer(a, "a grant that was deleted", second.Sequencer(), distlock.ErrStale)
	}
}

func sequencersTakeNoPart(r *row) {
	a, b := r.lasting(), r.lasting()
	l := r.acquire(a, r.key)
	s := l.Sequencer()
	for range 3 {
		r.sequencer(b, "a grant that has the key", s, nil)
	}
	r.release(l)
	for range 3 {
		r.sequencer(b, "a released grant", s, distlock.ErrStale)
	}
	r.nothingLeft(r.key)
	next := r.try(a, r.key)
	larger(r, l.Token(), next)
	r.sequencer(b, "the grant after it", next.Sequencer(), nil)
	r.release(next)
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	r.promptly("CheckSequencer", func() error { return b.CheckSequencer(ctx, s) })
}

func sequencerUntilMinHold(r *row) {
	a, b := r.lasting(), r.lasting()
	before, window := time.Now(), r.terms(r.h.TTL).TTL
	l := r.try(a, r.key, distlock.WithMinHold(window))
	r.release(l)
	s := l.Sequencer()
	check := func() error { return b.CheckSequencer(r.within(r.patience()), s) }
	if err := check(); err != nil && time.Since(before) < window-drift(window) {
		r.Errorf("CheckSequencer of a grant that keeps its key taken: got %v, want nil", err)
	}
	r.eventually(window+soon, "the sequencer is stale", func() bool { return errors.Is(check(), distlock.ErrStale) })
	if kept := time.Since(before); kept < window-drift(window) {
		r.Errorf("the sequencer was stale after %v, the min-hold is %v", kept, window)
	}
}
