package redis

import (
	"context"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	// linger is how long a channel stays subscribed after the last watcher has
	// gone: a process that waits for a key again and again subscribes once.
	linger = time.Second
	// fresh is how recent a message must be to count for a watcher that comes
	// after it: the attempt that made it watch was not answered before.
	fresh = 5 * time.Millisecond
)

// A hub is a session's ear: one subscription, on one connection, for all keys
// that it waits for. It has a goroutine and a connection only while there are
// channels to listen to. Wake-ups are hints: all errors here cost a waiter one
// poll interval, so none is reported.
type hub struct {
	client Client
	kick   chan struct{} // something has changed; capacity 1

	mu      sync.Mutex // guards all below
	topics  map[string]*topic
	running bool
	closed  bool
	active  sync.WaitGroup
}

// A topic is one channel.
type topic struct {
	watchers map[*func()]struct{}
	asked    bool      // SUBSCRIBE was sent
	heard    bool      // and confirmed
	last     time.Time // of the last message
	idle     time.Time // when the last watcher left
}

func newHub(client Client) hub {
	return hub{client: client, kick: make(chan struct{}, 1), topics: make(map[string]*topic)}
}

// watch calls wake at each message on channel, and once when it begins to
// listen, until stop is called.
func (h *hub) watch(channel string, wake func()) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return func() {}
	}
	t := h.topics[channel]
	if t == nil {
		t = &topic{watchers: make(map[*func()]struct{})}
		h.topics[channel] = t
	}
	id := &wake
	t.watchers[id] = struct{}{}
	if t.heard && time.Since(t.last) < fresh {
		go wake() // ends at once; it may want our caller's locks
	}
	if !h.running {
		h.running = true
		h.active.Go(h.run)
	} else if !t.asked {
		h.nudge()
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(t.watchers, id)
		if len(t.watchers) == 0 {
			t.idle = time.Now()
		}
	}
}

func (h *hub) nudge() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// run is the hub's goroutine. It ends when no channel is left.
func (h *hub) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sub := h.client.Subscribe(ctx)
	defer sub.Close()
	messages := sub.ChannelWithSubscriptions(goredis.WithChannelSize(1000))
	tick := time.NewTicker(linger / 2)
	defer tick.Stop()
	for h.tidy(ctx, sub) {
		select {
		case m, ok := <-messages:
			if !ok {
				return
			}
			h.heard(m)
		case <-h.kick:
		case <-tick.C:
		}
	}
}

// tidy subscribes to what is new and unsubscribes from what nobody has watched
// for a while. It reports whether anything is left.
func (h *hub) tidy(ctx context.Context, sub *goredis.PubSub) bool {
	var add, drop []string
	h.mu.Lock()
	for channel, t := range h.topics {
		switch {
		case h.closed || len(t.watchers) == 0 && time.Since(t.idle) > linger:
			delete(h.topics, channel)
			drop = append(drop, channel)
		case !t.asked:
			t.asked = true
			add = append(add, channel)
		}
	}
	if len(h.topics) == 0 {
		h.running = false
		h.mu.Unlock()
		return false
	}
	h.mu.Unlock()
	if len(add) > 0 {
		_ = sub.Subscribe(ctx, add...) // tried again by go-redis when it reconnects
	}
	if len(drop) > 0 {
		_ = sub.Unsubscribe(ctx, drop...)
	}
	return true
}

// heard passes a message on. A confirmed subscription, the first or one after
// a reconnection, may have missed messages before it.
func (h *hub) heard(m any) {
	switch m := m.(type) {
	case *goredis.Message:
		h.wake(m.Channel, func(t *topic) { t.last = time.Now() })
	case *goredis.Subscription:
		if m.Kind == "subscribe" {
			h.wake(m.Channel, func(t *topic) { t.heard = true })
		}
	}
}

func (h *hub) wake(channel string, note func(*topic)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[channel]
	if t == nil {
		return
	}
	note(t)
	for w := range t.watchers {
		(*w)()
	}
}

// close ends the subscription and waits for the goroutine.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.nudge()
	h.active.Wait()
}
