package quorum_test

import (
	"time"

	"github.com/distlock-go/distlock/redlock/internal/model"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
)

// A server is a node of a world.
type server struct {
	world  *world
	number int
	down   bool
	ahead  time.Duration // its clock

	model.Node
}

// epoch is what clocks show when the world begins.
const epoch = int64(1_800_000_000_000_000)

// micros is the server's clock.
func (n *server) micros() int64 {
	return epoch + int64((n.world.now+n.ahead)/time.Microsecond)
}

func (n *server) shift() {
	if d := n.world.offset; d > 0 {
		n.ahead = n.world.between(-d, d)
	}
}

// live is the server's fate: it stops and comes back, with or without memory,
// and its clock steps.
func (n *server) live() {
	w := n.world
	if w.healed || w.calm {
		n.down = false
		return
	}
	switch {
	case n.down:
		n.down = false
	case w.chance(2):
		n.down = true
		if n.number < w.lossy && w.chance(2) {
			n.Lose()
		}
		w.after(w.between(0, w.ttl), nil, n.live)
		return
	case n.number < w.lossy && w.chance(2): // FLUSHALL
		n.Lose()
	case w.scenario.steps:
		n.shift()
	}
	rest := 6 * w.ttl
	if n.number < w.lossy {
		rest = 2 * w.ttl
	}
	w.after(w.between(0, rest), nil, n.live)
}

// A link is a server as one client sees it.
type link struct {
	*server
	actor *actor
}

// lost is after which time a client's transport gives an answer up.
const lost = 300 * time.Millisecond

func (l *link) Name() string { return "node " + string(rune('1'+l.number)) }

// Ready may be wrong: it is no more than a hint.
func (l *link) Ready() bool { return !l.world.chance(10) }

func (l *link) Trouble() error { return nil }

// Do sends r over a network that may lose it, delay it and deliver it twice.
func (l *link) Do(r quorum.Request, answer func(quorum.Answer)) {
	w, begun := l.world, l.world.now
	bad := !w.calm && !w.healed
	if bad && w.chance(25) {
		l.miss(begun, answer)
	} else {
		w.after(w.delay(), nil, func() { l.arrive(r, begun, answer) })
	}
	if bad && w.chance(25) {
		w.after(w.delay(), nil, func() {
			if !l.down {
				l.Apply(r, l.micros())
			}
		})
	}
}

// arrive is a request at the server, which was sent at begun.
func (l *link) arrive(r quorum.Request, begun time.Duration, answer func(quorum.Answer)) {
	w := l.world
	if l.down {
		l.miss(begun, answer)
		return
	}
	a, d := l.Apply(r, l.micros()), w.delay()
	if w.now+d >= begun+lost || !w.calm && !w.healed && w.chance(25) {
		l.miss(begun, answer)
	} else {
		w.after(d, l.actor, func() { answer(a) })
	}
}

// miss is the transport's answer where the server's does not come in time.
func (l *link) miss(begun time.Duration, answer func(quorum.Answer)) {
	w := l.world
	w.after(begun+lost-w.now, l.actor, func() { answer(quorum.Answer{Verdict: quorum.Failed}) })
}
