package postgres

import (
	"sync"
	"time"
)

// linger is how long a channel stays listened to after the last watcher has
// gone: a process that waits for a key again and again asks the server once.
const linger = 5 * time.Second

// A hub is a session's ear. It listens on the lock connection itself, of which a
// read is pending anyway: a hint is of no use without the session that acts on
// it, and a client needs one connection, not two. There is a channel for each
// lock that is waited for. An idle connection that listens holds no snapshot.
type hub struct {
	start func(*call)

	mu     sync.Mutex // guards all below
	topics map[int64]*topic
	active sync.WaitGroup // wake-ups under way
	closed bool
}

// A topic is one lock's channel.
type topic struct {
	watchers map[*watcher]struct{}
	heard    bool      // LISTEN was answered
	last     time.Time // when the last notification came
	refused  time.Time // when the last attempt was sent that was refused
	idle     time.Time // when the last watcher left
}

type watcher struct{ wake func() }

func newHub(start func(*call)) *hub {
	return &hub{start: start, topics: make(map[int64]*topic)}
}

// watch calls wake at each release of the lock, and once when it begins to
// listen, until stop is called. Where it listens already, it calls wake only if
// a notification has come since the last refused attempt.
func (h *hub) watch(id int64, wake func()) (stop func()) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return func() {}
	}
	t := h.topics[id]
	var ask *call
	if t == nil {
		t = &topic{watchers: make(map[*watcher]struct{})}
		h.topics[id] = t
		ask = h.listen(id, t)
	}
	w := &watcher{wake}
	t.watchers[w] = struct{}{}
	if t.heard && t.last.After(t.refused) {
		h.active.Go(wake) // not under our caller's locks
	}
	h.mu.Unlock()
	if ask != nil {
		h.start(ask)
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(t.watchers, w)
		t.idle = time.Now()
	}
}

// refused notes that an attempt that was sent at sent found the lock taken.
func (h *hub) refused(id int64, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[id]; t != nil {
		t.refused = sent
	}
}

// listen asks for the notifications of t, and for no more of those that nobody
// has watched for a while. h.mu is held.
func (h *hub) listen(id int64, t *topic) *call {
	c := newCall(listen, 0)
	c.query = `LISTEN "` + channel(id) + `"`
	for other, o := range h.topics {
		if len(o.watchers) == 0 && o != t && time.Since(o.idle) > linger {
			delete(h.topics, other)
			c.query += `;UNLISTEN "` + channel(other) + `"`
		}
	}
	c.after = func() {
		if c.err == nil {
			h.wake(id, func(t *topic) { t.heard = true })
		}
	}
	return c
}

// hear takes in a notification.
func (h *hub) hear(name string) {
	if id, ok := channelID(name); ok {
		h.wake(id, func(t *topic) { t.last = time.Now() })
	}
}

func (h *hub) wake(id int64, note func(*topic)) {
	h.mu.Lock()
	var all []*watcher
	if t := h.topics[id]; t != nil {
		note(t)
		for w := range t.watchers {
			all = append(all, w)
		}
	}
	h.mu.Unlock()
	for _, w := range all {
		w.wake()
	}
}

// close forgets all watchers and waits for wake-ups under way.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	clear(h.topics)
	h.mu.Unlock()
	h.active.Wait()
}
