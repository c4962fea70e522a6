package quorum_test

import (
	"encoding/binary"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
)

// An actor is a client of a world, and does what the library's core does: it
// measures validity from before the request, renews at a third of the TTL, and
// believes no answer that comes after its deadline.
type actor struct {
	world  *world
	number int
	set    *quorum.Set
	rate   float64       // of its clock
	paused time.Duration // until when it stands still
	serial uint64

	claim *quorum.Claim
	until distlock.Instant // on its own clock
	holds bool             // granted, and not lost or given up
}

func newActor(w *world, number int) *actor {
	a := &actor{world: w, number: number}
	a.rate = 0.996 + 0.008*w.rng.Float64() // drift is reckoned with 1 %
	a.set = &quorum.Set{Quorum: w.quorum, Fenced: w.fenced, Timeout: 50 * time.Millisecond, Clock: a}
	for _, n := range w.nodes {
		a.set.Nodes = append(a.set.Nodes, &link{n, a})
	}
	return a
}

// Now is the actor's own clock.
func (a *actor) Now() distlock.Instant {
	return distlock.Instant(float64(a.world.now) * a.rate)
}

func (a *actor) After(d time.Duration, f func()) (stop func()) {
	stopped := false
	a.world.after(time.Duration(float64(d)/a.rate), a, func() {
		if !stopped {
			f()
		}
	})
	return func() { stopped = true }
}

// valid reports whether the actor believes to hold the key, if it looks now.
func (a *actor) valid() bool { return a.Now() < a.until }

// live is one thing after the other, for ever.
func (a *actor) live() {
	w := a.world
	if w.healed {
		return
	}
	if n := len(w.grants); n > 0 && w.gap > 0 && w.now < w.grants[n-1].at+w.gap {
		w.after(w.grants[n-1].at+w.gap-w.now, a, a.live)
		return
	}
	a.serial++
	var owner distlock.Owner
	binary.BigEndian.PutUint64(owner[:], a.serial)
	owner[19] = byte(a.number) + 1
	l := quorum.Lock{Key: "k", Owner: owner, Terms: distlock.Terms{TTL: w.ttl}}
	sent, at := w.now, a.Now()
	a.claim = a.set.Acquire(l, func(err error) { a.decided(sent, at, err) })
	if !w.calm && w.chance(10) {
		claim := a.claim
		w.after(w.between(0, 100*time.Millisecond), a, func() {
			if claim.Abandon() {
				w.after(w.between(0, w.ttl), a, a.live)
			}
		})
	}
	a.perhapsPause()
}

// perhapsPause stops the actor, at any point of what is under way.
func (a *actor) perhapsPause() {
	w := a.world
	if w.calm || w.healed || !w.chance(10) {
		return
	}
	w.after(w.between(0, 5*time.Millisecond), nil, func() { a.paused = w.now + w.between(0, 2*w.ttl) })
}

// validFor is what the core takes a lifetime for.
func validFor(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

func (a *actor) decided(sent time.Duration, at distlock.Instant, err error) {
	w := a.world
	if err != nil {
		w.after(w.between(time.Millisecond, w.ttl/2), a, a.live)
		return
	}
	a.until = at.Add(validFor(w.ttl))
	if a.until.Sub(a.Now()) < w.ttl/4 {
		a.end() // granted too late
		return
	}
	a.holds = true
	w.granted(a, sent, a.claim.Token())
	a.plan(a.claim)
}

// plan decides what becomes of the lease.
func (a *actor) plan(c *quorum.Claim) {
	w := a.world
	a.perhapsPause()
	switch {
	case a.claim != c || !a.holds:
	case w.chance(2) || w.healed:
		w.after(w.between(0, w.ttl/8), a, func() {
			if a.claim == c && a.holds {
				a.end()
			}
		})
	case !w.calm && w.chance(10): // it crashes
		a.holds = false
		w.after(w.between(0, w.ttl), a, a.live)
	default:
		w.after(w.ttl/3, a, func() { a.renew(c) })
	}
}

func (a *actor) renew(c *quorum.Claim) {
	if a.claim != c || !a.holds {
		return
	}
	if !a.valid() {
		a.end()
		return
	}
	at := a.Now()
	c.Renew(distlock.Terms{TTL: a.world.ttl}, func(err error) {
		switch {
		case a.claim != c || !a.holds:
		case err != nil || !a.valid():
			a.end()
		default:
			a.until = at.Add(validFor(a.world.ttl))
			a.plan(c)
		}
	})
	a.perhapsPause()
}

// end gives the lease up and goes on.
func (a *actor) end() {
	w := a.world
	a.holds, a.until = false, 0
	a.claim.Release(func(error) {})
	w.after(w.between(0, w.ttl/4), a, a.live)
}
