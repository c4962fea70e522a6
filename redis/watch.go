package redis

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/tasks"
	goredis "github.com/redis/go-redis/v9"
)

// linger is how long a channel stays subscribed after the last watcher has
// gone: a process that waits for a key again and again subscribes once.
const linger = time.Second

// A hub is a session's ear: one subscription, on one connection, for all keys
// that it waits for. It has a goroutine and a connection only while there are
// channels to listen to. Wake-ups are hints: all errors here cost a waiter one
// poll interval, so none is reported.
type hub struct {
	client Client
	kick   chan struct{} // something has changed; capacity 1
	ctx    context.Context
	cancel context.CancelFunc
	active tasks.Group // run, and wake-ups under way

	mu      sync.Mutex // guards all below
	topics  map[string]*topic
	running bool
}

// A topic is one channel.
type topic struct {
	watchers map[*watcher]struct{}
	asked    bool      // SUBSCRIBE was sent
	heard    bool      // and confirmed
	last     time.Time // when the last message came
	refused  time.Time // when the last attempt was sent that was refused
	idle     time.Time // when the last watcher left
}

type watcher struct{ wake func() }

func newHub(client Client) *hub {
	h := &hub{client: client, kick: make(chan struct{}, 1), topics: make(map[string]*topic)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// watch calls wake at each message on channel, and once when it begins to
// listen, until stop is called. Where it listens already, it calls wake only
// if a message has come since the last refused attempt.
func (h *hub) watch(channel string, wake func()) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return func() {}
	}
	t := h.topics[channel]
	if t == nil {
		t = &topic{watchers: make(map[*watcher]struct{})}
		h.topics[channel] = t
	}
	w := &watcher{wake: wake}
	t.watchers[w] = struct{}{}
	if t.heard && t.last.After(t.refused) {
		h.active.Start(wake) // not under our caller's locks
	}
	if !h.running {
		h.running = true
		h.active.Start(h.run)
	} else if !t.asked {
		h.nudge()
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(t.watchers, w)
		if len(t.watchers) == 0 {
			t.idle = time.Now()
		}
	}
}

// refused notes that an attempt that was sent at sent found the key held.
func (h *hub) refused(channel string, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[channel]; t != nil {
		t.refused = sent
	}
}

func (h *hub) nudge() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// run is the hub's goroutine. It ends when no channel is left, or with the
// session.
func (h *hub) run() {
	sub := h.client.Subscribe(h.ctx)
	messages := sub.ChannelWithSubscriptions(goredis.WithChannelSize(1000))
	defer func() {
		_ = sub.Close()
		for range messages { // until go-redis' goroutine has ended
		}
	}()
	tick := time.NewTicker(linger / 2)
	defer tick.Stop()
	for h.tidy(sub) {
		select {
		case m, ok := <-messages:
			if !ok { // the user has closed the client
				h.stop()
				return
			}
			h.hear(m)
		case <-h.kick:
		case <-tick.C:
		case <-h.ctx.Done():
		}
	}
}

// tidy subscribes to what is new and unsubscribes from what nobody has watched
// for a while. It reports whether anything is left.
func (h *hub) tidy(sub *goredis.PubSub) bool {
	var add, drop []string
	h.mu.Lock()
	for channel, t := range h.topics {
		switch {
		case len(t.watchers) == 0 && time.Since(t.idle) > linger:
			delete(h.topics, channel)
			drop = append(drop, channel)
		case !t.asked:
			t.asked = true
			add = append(add, channel)
		}
	}
	over := len(h.topics) == 0 || h.ctx.Err() != nil
	h.running = !over
	h.mu.Unlock()
	if over {
		return false
	}
	if len(add) > 0 {
		_ = sub.Subscribe(h.ctx, add...) // go-redis does it again when it reconnects
	}
	if len(drop) > 0 {
		_ = sub.Unsubscribe(h.ctx, drop...)
	}
	return true
}

// hear passes a message on. A confirmed subscription, the first or one after a
// reconnection, may have missed messages before it.
func (h *hub) hear(m any) {
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
	var all []*watcher
	if t := h.topics[channel]; t != nil {
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

// stop forgets all channels: there is nothing to listen with.
func (h *hub) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.topics)
	h.running = false
}

// close has the subscription end. The caller waits for active.
func (h *hub) close() {
	h.mu.Lock() // no watch is between its check and its Go
	defer h.mu.Unlock()
	h.cancel()
}
