package consul

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"
)

// memory is how long it is remembered that others want a key.
const memory = 2 * time.Second

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
	t.seen, t.held, t.presumed = t.used, true, 0
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

// note takes down what was read of t, and reports whether somebody has it.
func (h *hub) note(t *topic, entry *api.KVPair, index uint64) bool {
	held := entry != nil && entry.Session != ""
	h.mu.Lock()
	defer h.mu.Unlock()
	t.used = time.Now()
	if index >= t.index || index == 0 { // not overtaken by another answer
		t.index, t.held = index, held
		if !held && index != 0 { // which stands for no answer
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
