package consul

import (
	"context"
	"sync"
	"time"
)

const (
	// memory is how long it is remembered that others want a key.
	memory = 2 * time.Second
	// yieldFor is how long an attempt lets others go first after this session
	// has released a key that they want. It is over as soon as one of them has
	// the key.
	yieldFor = 50 * time.Millisecond
)

// A hub is what a session knows of the entries that others have, and its ear:
// one blocking query for each key that is waited for.
type hub struct {
	backend *Backend
	ctx     context.Context
	cancel  context.CancelFunc
	active  sync.WaitGroup // goroutines of topics

	mu     sync.Mutex // guards all below
	topics map[string]*topic
}

// A topic is one entry. Guarded by hub.mu.
type topic struct {
	name     string
	used     time.Time
	index    uint64    // up to which it is known
	held     bool      // whether somebody had it then
	seen     time.Time // when somebody else was seen to have it
	gave     uint64    // where this session released it with others waiting; 0 once they had their turn
	watchers map[*watcher]struct{}
	kick     chan struct{}      // an attempt was refused: look now; capacity 1
	stop     context.CancelFunc // ends listen
}

type watcher struct{ wake func() }

func newHub(b *Backend) *hub {
	h := &hub{backend: b, topics: make(map[string]*topic)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// on returns the topic of name, making it if needed. h.mu is held.
func (h *hub) on(name string) *topic {
	t := h.topics[name]
	if t == nil {
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
	t.seen = t.used
	select {
	case t.kick <- struct{}{}:
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

// yields lets others go first after gaveUp, once, and reports whether one did.
// They have to be woken before they can try, so that without this a session
// that comes back at once would always be before them.
func (h *hub) yields(ctx context.Context, name string) bool {
	h.mu.Lock()
	t := h.topics[name]
	if t == nil || t.gave == 0 {
		h.mu.Unlock()
		return false
	}
	gave := t.gave
	t.gave, t.seen = 0, time.Time{} // unless one comes
	h.mu.Unlock()
	var held bool
	err := h.backend.call(ctx, func() error {
		entry, index, err := h.backend.await(ctx, name, gave, yieldFor)
		if err == nil {
			held = h.note(t, isLocked(entry), index)
		}
		return err
	})
	return err == nil && held
}

// note takes down what was read of t, and returns held.
func (h *hub) note(t *topic, held bool, index uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.used, t.index, t.held = time.Now(), index, held
	if held {
		t.seen = t.used
	}
	return held
}

// sweep forgets what has not been used for a while.
func (h *hub) sweep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, t := range h.topics {
		if len(t.watchers) == 0 && time.Since(t.used) > memory {
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
