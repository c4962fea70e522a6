package locktest

import (
	"context"

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
