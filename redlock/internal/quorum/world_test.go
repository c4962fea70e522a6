package quorum_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock/internal/model"
)

// A scenario is what may happen in a world, and what is wrong with it.
type scenario struct {
	clients int
	quorum  int
	fenced  bool
	ttl     time.Duration

	offset time.Duration // the nodes' clocks differ by up to so much
	steps  bool          // they step while the world goes on
	lossy  int           // so many of the nodes lose their data now and then
	delay  time.Duration // RestartDelay
	gap    time.Duration // between a grant and the next acquisition
	calm   bool          // no drops, duplicates, crashes and pauses, and short delays

	noWriteBack bool // nodes acknowledge the token and do not keep it
	noOwner     bool // nodes do not compare owners
}

// nodes is how many there are.
const nodes = 5

// A world is a simulation: nodes, clients, and what is under way between them.
// Everything happens in one goroutine, in the order of time, and all chance
// comes from one seed, so that a run can be repeated.
type world struct {
	scenario
	rng    *rand.Rand
	now    time.Duration
	events events
	serial int
	steps  int
	digest uint64

	nodes   []*server
	clients []*actor
	grants  []grant
	highest []distlock.Token // of the grants up to each
	tokens  map[distlock.Token]bool
	healed  bool // nothing more goes wrong
	wrong   []string
}

// A grant is one that a client has taken for good.
type grant struct {
	by    *actor
	at    time.Duration
	token distlock.Token
}

// An event happens at a time. An actor's waits while it is paused.
type event struct {
	at     time.Duration
	serial int
	actor  *actor
	f      func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

func newWorld(s scenario, seed uint64) *world {
	w := &world{scenario: s, rng: rand.New(rand.NewPCG(seed, 1)), tokens: make(map[distlock.Token]bool)}
	for i := range nodes {
		n := &server{world: w, number: i, Node: model.Node{
			Fenced: s.fenced, Delay: s.delay, NoWriteBack: s.noWriteBack, NoOwner: s.noOwner,
			Since: 1, // it is old when the world begins
		}}
		n.shift()
		w.nodes = append(w.nodes, n)
		w.after(w.between(0, time.Second), nil, n.live)
	}
	for i := range s.clients {
		a := newActor(w, i)
		w.clients = append(w.clients, a)
		w.after(w.between(0, s.ttl), a, a.live)
	}
	return w
}

// after has f happen d from now, to actor if that is not nil.
func (w *world) after(d time.Duration, a *actor, f func()) {
	w.serial++
	heap.Push(&w.events, event{at: w.now + max(d, 0), serial: w.serial, actor: a, f: f})
}

// run lets n steps happen, or until something goes wrong.
func (w *world) run(n int) {
	for end := w.steps + n; w.steps < end && len(w.events) > 0 && len(w.wrong) == 0; {
		w.step()
	}
}

// runFor lets d pass.
func (w *world) runFor(d time.Duration) {
	for end := w.now + d; len(w.events) > 0 && w.events[0].at <= end; {
		w.step()
	}
}

func (w *world) step() {
	e := heap.Pop(&w.events).(event)
	w.now = e.at
	if e.actor != nil && e.actor.paused > w.now {
		w.after(e.actor.paused-w.now, e.actor, e.f)
		return
	}
	w.steps++
	w.mix(uint64(e.at), uint64(e.serial))
	e.f()
}

// mix makes the digest of the run depend on v.
func (w *world) mix(v ...uint64) {
	for _, x := range v {
		w.digest = (w.digest ^ x) * 1099511628211 // FNV-1a, a word at a time
	}
}

// between draws a duration.
func (w *world) between(a, b time.Duration) time.Duration {
	return a + time.Duration(w.rng.Int64N(int64(b-a)+1))
}

// chance is true once in n times.
func (w *world) chance(n int) bool { return w.rng.IntN(n) == 0 }

// delay is how long a message travels: mostly a moment, sometimes longer than
// a time-out, and rarely longer than a grant lives.
func (w *world) delay() time.Duration {
	switch {
	case w.calm || w.healed || !w.chance(20):
		return w.between(100*time.Microsecond, 2*time.Millisecond)
	case w.chance(8):
		return w.between(0, 2*w.ttl)
	}
	return w.between(0, 200*time.Millisecond)
}

// granted checks a grant against all others.
func (w *world) granted(a *actor, sent time.Duration, t distlock.Token) {
	w.mix(uint64(t))
	for _, other := range w.clients {
		if other != a && other.holds && other.valid() && w.exclusive() {
			w.violated("client %d has the key, and so has client %d", a.number, other.number)
		}
	}
	if !w.fenced {
		w.grants = append(w.grants, grant{by: a, at: w.now})
		return
	}
	if w.tokens[t] {
		w.violated("token %d was granted twice", t)
	}
	w.tokens[t] = true
	for i := len(w.grants) - 1; i >= 0; i-- { // the last one before the request was sent
		if w.grants[i].at <= sent {
			if last := w.highest[i]; last >= t {
				w.violated("token %d was granted after %d", t, last)
			}
			break
		}
	}
	w.grants = append(w.grants, grant{by: a, at: w.now, token: t})
	if n := len(w.highest); n > 0 {
		t = max(t, w.highest[n-1])
	}
	w.highest = append(w.highest, t)
}

// exclusive reports whether one holder at a time is promised: clocks do not
// step, and nodes that have lost their data keep away.
func (w *world) exclusive() bool { return !w.scenario.steps && (w.lossy == 0 || w.scenario.delay > 0) }

func (w *world) violated(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf("after %v, step %d: ", w.now, w.steps)+fmt.Sprintf(format, args...))
}
