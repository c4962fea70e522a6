package consul

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/pause"
	"github.com/hashicorp/consul/api"
)

const (
	// memory is how long it is remembered that others want a key.
	memory = 2 * time.Second
	// yieldFor is how long an attempt lets others go first after this session
	// has released a key that they want. It is over as soon as one of them has
	// the key.
	yieldFor = 50 * time.Millisecond
	// yieldPause is the least time between two looks meanwhile.
	yieldPause = 5 * time.Millisecond
)

// A hub is what a session knows of the entries that others have, and its ear:
// one blocking query for each key that is waited for.
type hub struct {
	backend *Backend
	own     string // the session's id
	ctx     context.Context
	cancel  context.CancelFunc
	active  sync.WaitGroup // goroutines of topics and of the session

	mu     sync.Mutex // guards all below
	topics map[string]*topic
	swept  time.Time
}

// A topic is one entry. Guarded by hub.mu.
type topic struct {
	name      string
	used      time.Time
	index     uint64    // up to which it is known; 0: not at all
	held      bool      // whether somebody had it then, or was found to have it later
	seen      time.Time // when somebody else was seen to have it
	gave      uint64    // where this session released it with others about; 0 once they had their turn
	presumed  int       // how often others were taken to have had their turn since one was seen to
	declined  int       // how often in a row nobody took it then
	skip      int       // how often not to ask again
	watchers  map[*watcher]struct{}
	listening bool
	kick      chan struct{} // there is news: look now; capacity 1
}

type watcher struct{ wake func() }

func newHub(b *Backend, own string) *hub {
	h := &hub{backend: b, own: own, topics: make(map[string]*topic)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// start runs f in a goroutine that close waits for, unless that has begun.
func (h *hub) start(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() == nil {
		h.active.Go(f)
	}
}

// on returns the topic of name, making it if needed. h.mu is held.
func (h *hub) on(name string) *topic {
	t := h.topics[name]
	if t == nil {
		h.sweep()
		t = &topic{name: name, watchers: make(map[*watcher]struct{}), kick: make(chan struct{}, 1)}
		h.topics[name] = t
	}
	t.used = time.Now()
	return t
}

// refused notes that somebody else was just found to have name.
func (h *hub) refused(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.on(name)
	t.seen, t.held = t.used, true
	t.nudge()
}

func (t *topic) nudge() {
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// hush takes back a nudge from before an answer that told more. h.mu is held.
func (t *topic) hush() {
	select {
	case <-t.kick:
	default:
	}
}

// sought reports whether somebody else was seen to have name not long ago.
func (h *hub) sought(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[name]
	return t != nil && time.Since(t.seen) < memory
}

// gaveUp notes that this session released name, at index, while others want
// it.
func (h *hub) gaveUp(name string, index uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on(name).gave = index
}

// yields lets others go first after gaveUp, and reports whether one did. They
// have to be woken before they can try, so that without this a session that
// comes back at once would always be before them. If nobody takes the entry
// that says little of who is slow to come, so they are asked again, but after
// more and more turns. That they could not be asked says nothing of them.
func (h *hub) yields(ctx context.Context, name string) bool {
	h.mu.Lock()
	t := h.topics[name]
	if t == nil || t.gave == 0 {
		h.mu.Unlock()
		return false
	}
	gave := t.gave
	t.gave = 0
	asks := t.skip == 0
	t.skip = max(t.skip-1, 0)
	h.mu.Unlock()
	if !asks {
		return false
	}
	took, err := h.othersTake(ctx, t, gave)
	if err != nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.declined++; took != nothing {
		t.declined = 0
	}
	t.skip = 1<<min(t.declined, maxSkip) - 1
	return took == theirTurn
}

// What others make of being let go first.
type turn int

const (
	nothing   turn = iota
	theirTurn      // one has the entry
	turnOver       // one had it, it seems
)

// maxSkip bounds the turns between two questions, as a power of two.
const maxSkip = 10

// maxPresumed is how often in a row others are taken to have had their turn.
const maxPresumed = 3

// othersTake waits until somebody takes t's entry after gave, for yieldFor. On
// an entry that is not there a query returns at every write to the store, hence
// the pauses. It is not worth waiting for a connection.
func (h *hub) othersTake(ctx context.Context, t *topic, gave uint64) (turn, error) {
	index := gave
	for end := time.Now().Add(yieldFor); ; {
		entry, at, err := h.query(ctx, t.name, index, max(time.Until(end), time.Millisecond))
		switch {
		case err != nil:
			return nothing, err
		case h.note(t, entry, at):
			return theirTurn, nil
		case index == gave && h.presume(t, gave, at):
			return turnOver, nil
		case time.Until(end) < yieldPause:
			return nothing, nil
		}
		index = at
		if err := pause.For(ctx, yieldPause); err != nil {
			return nothing, err
		}
	}
}

// presume takes t's entry, which nobody has at index, for one that somebody has taken
// and released since gave. Both may be looking the other way, each letting the other
// go first. The two writes can be of other entries, so it is presumed maxPresumed times
// in a row at most, and not of what came while it was waited.
func (h *hub) presume(t *topic, gave, index uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index < gave+2 || t.presumed == maxPresumed {
		return false
	}
	t.presumed++
	return true
}

// note takes down what was read of t, and reports whether somebody has it.
func (h *hub) note(t *topic, entry *api.KVPair, index uint64) bool {
	held := entry != nil && entry.Session != ""
	h.mu.Lock()
	defer h.mu.Unlock()
	t.used = time.Now()
	if index >= t.index || index == 0 { // not overtaken by another answer
		t.index, t.held = index, held
		if !held {
			t.hush()
		}
	}
	if held && entry.Session != h.own {
		t.seen, t.presumed = t.used, 0
	}
	return held
}

// sweep forgets what has not been used for a while. h.mu is held.
func (h *hub) sweep() {
	if time.Since(h.swept) < memory {
		return
	}
	h.swept = time.Now()
	for name, t := range h.topics {
		if len(t.watchers) == 0 && !t.listening && time.Since(t.used) > memory {
			delete(h.topics, name)
		}
	}
}

// close ends all listening.
func (h *hub) close() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock()
	h.active.Wait() // no watch begins any more
}
