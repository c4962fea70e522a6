package postgres

import (
	"context"
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
//
// Who waits says so on the channel, and who has released a lock lets those go
// first: so nobody starves, and a release is followed by one attempt, not by one
// of everybody.
type hub struct {
	pid   uint32 // of our lock connection
	start func(...*call)

	mu     sync.Mutex // guards all below
	topics map[int64]*topic
	active sync.WaitGroup // wake-ups under way
	closed bool
}

// A topic is one lock's channel.
type topic struct {
	id       int64
	watchers map[*watcher]struct{}
	heard    bool      // LISTEN was answered
	last     time.Time // when the last release came
	refused  time.Time // when the last attempt was sent that was refused
	idle     time.Time // when the last watcher left

	queue  queue
	joined bool        // we have a place in it, or have asked for one
	gave   bool        // the last release was ours
	turn   *time.Timer // until it is our turn; may be nil
}

type watcher struct{ wake func() }

func newHub(pid uint32, start func(...*call)) *hub {
	return &hub{pid: pid, start: start, topics: make(map[int64]*topic)}
}

// watch takes a place in the queue of the lock, and calls wake when it is our turn
// after a release, and once when it begins to listen, until stop is called. Where
// it listens already, it calls wake only if there was a release since the last
// refused attempt.
func (h *hub) watch(id int64, wake func()) (stop func()) {
	t, w := h.add(id, wake)
	return func() {
		if t != nil {
			h.start(h.remove(t, w)...)
		}
	}
}

// add begins to watch. A nil topic says that the hub is closed.
func (h *hub) add(id int64, wake func()) (*topic, *watcher) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, nil
	}
	t := h.topics[id]
	var say []*call
	if t == nil {
		t = &topic{id: id, watchers: make(map[*watcher]struct{})}
		h.topics[id] = t
		say = append(say, h.listen(id, t))
	}
	w := &watcher{wake}
	t.watchers[w] = struct{}{}
	say = append(say, t.join()...)
	if t.heard && t.last.After(t.refused) {
		h.call(t)
	}
	h.mu.Unlock()
	h.start(say...)
	return t, w
}

// remove ends what add began. It returns what is to be said.
func (h *hub) remove(t *topic, w *watcher) []*call {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(t.watchers, w)
	t.idle = time.Now()
	return t.leave()
}

// join asks for a place in the queue, if we have none. h.mu is held.
func (t *topic) join() []*call {
	if t.joined {
		return nil
	}
	t.joined = true
	return []*call{t.notify(joins)}
}

// leave gives the place up if nobody watches. h.mu is held.
func (t *topic) leave() []*call {
	if !t.joined || len(t.watchers) > 0 {
		return nil
	}
	t.joined = false
	return []*call{t.notify(leaves)}
}

// notify is a call that says what on the channel.
func (t *topic) notify(what string) *call {
	c := newCall(listen, 0)
	c.query = `NOTIFY "` + channel(t.id) + `", '` + what + `'`
	return c
}

// refused notes that an attempt that was sent at sent found the lock taken.
func (h *hub) refused(id int64, sent time.Time) {
	h.mu.Lock()
	t := h.topics[id]
	var say []*call
	if t != nil {
		t.refused = sent
		if len(t.watchers) > 0 {
			say = t.join()
		}
	}
	h.mu.Unlock()
	h.start(say...)
}

// granted notes that the lock is ours: our release will end our place.
func (h *hub) granted(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[id]; t != nil {
		t.joined, t.gave = false, false
	}
}

// yield lets those that wait for the lock go first if we are who has released it
// last. It returns when it is our turn or ctx ends. Without it, who comes back at
// once would always be before them.
func (h *hub) yield(ctx context.Context, id int64) {
	h.mu.Lock()
	t := h.topics[id]
	yields := t != nil && t.gave && len(t.queue.pids) > 0
	if yields {
		t.gave = false
	}
	h.mu.Unlock()
	if !yields {
		return
	}
	turn := make(chan struct{}, 1)
	t, w := h.add(id, func() {
		select {
		case turn <- struct{}{}:
		default:
		}
	})
	bound := time.NewTimer((maxAhead + 1) * grace)
	defer bound.Stop()
	select {
	case <-turn:
	case <-bound.C:
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t != nil {
		delete(t.watchers, w) // the place is the attempt's that comes now
		t.idle = time.Now()
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
			h.mu.Lock()
			t.heard = true
			h.mu.Unlock()
			h.wake(t)
		}
	}
	return c
}

// hear takes in a notification.
func (h *hub) hear(name string, pid uint32, what string) {
	id, ok := channelID(name)
	h.mu.Lock()
	t := h.topics[id]
	if !ok || t == nil {
		h.mu.Unlock()
		return
	}
	var say []*call
	had := t.queue.has(h.pid)
	t.queue.hear(pid, what)
	if had && !t.queue.has(h.pid) {
		t.joined = false
	}
	if what == released {
		t.last, t.gave = time.Now(), pid == h.pid
		h.call(t)
		if t.queue.pause(h.pid) == 0 {
			say = t.leave() // an attempt that yielded was the last
		}
	}
	h.mu.Unlock()
	h.start(say...)
}

// call wakes those who watch t when it is our turn. h.mu is held.
func (h *hub) call(t *topic) {
	if t.turn != nil {
		t.turn.Stop()
		t.turn = nil
	}
	if len(t.watchers) == 0 || h.closed {
		return
	}
	if d := t.queue.pause(h.pid); d > 0 {
		t.turn = time.AfterFunc(d, func() { h.wake(t) })
		return
	}
	h.active.Go(func() { h.wake(t) }) // not under our caller's locks
}

func (h *hub) wake(t *topic) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.active.Add(1)
	defer h.active.Done()
	all := make([]*watcher, 0, len(t.watchers))
	for w := range t.watchers {
		all = append(all, w)
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
