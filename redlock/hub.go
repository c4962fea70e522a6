package redlock

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/tasks"
	goredis "github.com/redis/go-redis/v9"
)

const (
	// linger is how long a channel stays subscribed after the last watcher has
	// gone: a process that waits for a key again and again subscribes once.
	linger = time.Second
	// gather is how long after the first node's word that a key may be free the
	// others' is waited for: an attempt before a majority is free is in vain.
	gather = 2 * time.Millisecond
)

// A hub is a session's ear: one subscription at each node for all keys that it
// waits for, while there are any. Wake-ups are hints: all errors here cost a
// waiter one poll interval, so none is reported.
type hub struct {
	ears   []*ear
	quorum int
	ctx    context.Context
	cancel context.CancelFunc
	active tasks.Group // the ears, and wake-ups under way

	mu     sync.Mutex // guards all below, and the ears' fields
	topics map[string]*topic
}

// An ear is the subscription at one node.
type ear struct {
	client  goredis.UniversalClient
	kick    chan struct{} // something has changed; capacity 1
	running bool
	asked   map[string]bool // SUBSCRIBE was sent
}

// A topic is one channel, at all nodes.
type topic struct {
	watchers map[*watcher]struct{}
	word     []time.Time // by node: when it last gave word
	refused  time.Time   // when the last attempt was sent that was refused
	woken    time.Time   // when the watchers were last woken
	timer    *time.Timer // wakes them after gather; nil: not set
	idle     time.Time   // when the last watcher left
}

type watcher struct{ wake func() }

func newHub(clients []goredis.UniversalClient, quorum int) *hub {
	h := &hub{quorum: quorum, topics: make(map[string]*topic)}
	for _, c := range clients {
		h.ears = append(h.ears, &ear{client: c, kick: make(chan struct{}, 1), asked: make(map[string]bool)})
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// watch calls wake when a majority of the nodes has given word since the last
// refused attempt, or gather after the first has, until stop is called. The
// beginning of a subscription counts as word, since it may have come too late.
func (h *hub) watch(channel string, wake func()) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return func() {}
	}
	t := h.topics[channel]
	if t == nil {
		t = &topic{watchers: make(map[*watcher]struct{}), word: make([]time.Time, len(h.ears))}
		h.topics[channel] = t
	}
	w := &watcher{wake: wake}
	t.watchers[w] = struct{}{}
	if t.words() > 0 {
		h.active.Start(wake) // not under our caller's locks
	}
	for i, e := range h.ears {
		if !e.running {
			e.running = true
			h.active.Start(func() { h.run(i, e) })
		} else if !e.asked[channel] {
			e.nudge()
		}
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

// words returns how many nodes have given word since the last refused attempt
// and the last waking. Hub.mu is held.
func (t *topic) words() (n int) {
	for _, at := range t.word {
		if at.After(t.refused) && at.After(t.woken) {
			n++
		}
	}
	return n
}

// refused notes that an attempt that was sent at sent found the key held.
func (h *hub) refused(channel string, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[channel]; t != nil {
		t.refused = sent
	}
}

func (e *ear) nudge() {
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

// run is the goroutine of the ear at node i. It ends when no channel is left, or
// with the session.
func (h *hub) run(i int, e *ear) {
	sub := e.client.Subscribe(h.ctx)
	messages := sub.ChannelWithSubscriptions(goredis.WithChannelSize(1000))
	defer func() {
		_ = sub.Close()
		for range messages { // until go-redis' goroutine has ended
		}
	}()
	tick := time.NewTicker(linger / 2)
	defer tick.Stop()
	for h.tidy(e, sub) {
		select {
		case m, ok := <-messages:
			if !ok { // the user has closed the client
				h.mu.Lock()
				e.running = false
				clear(e.asked)
				h.mu.Unlock()
				return
			}
			h.hear(i, m)
		case <-e.kick:
		case <-tick.C:
		case <-h.ctx.Done():
		}
	}
}

// tidy subscribes to what is new and unsubscribes from what nobody has watched
// for a while. It reports whether anything is left.
func (h *hub) tidy(e *ear, sub *goredis.PubSub) bool {
	var add, drop []string
	h.mu.Lock()
	for channel, t := range h.topics {
		if len(t.watchers) == 0 && time.Since(t.idle) > linger {
			delete(h.topics, channel)
		} else if !e.asked[channel] {
			e.asked[channel] = true
			add = append(add, channel)
		}
	}
	for channel := range e.asked {
		if h.topics[channel] == nil {
			delete(e.asked, channel)
			drop = append(drop, channel)
		}
	}
	over := len(h.topics) == 0 || h.ctx.Err() != nil
	e.running = !over
	if over {
		clear(e.asked)
	}
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

// hear takes in word of node i.
func (h *hub) hear(i int, m any) {
	switch m := m.(type) {
	case *goredis.Message:
		h.word(i, m.Channel)
	case *goredis.Subscription:
		if m.Kind == "subscribe" {
			h.word(i, m.Channel)
		}
	}
}

// word wakes the watchers of channel now, soon or not.
func (h *hub) word(i int, channel string) {
	h.mu.Lock()
	t := h.topics[channel]
	if t == nil {
		h.mu.Unlock()
		return
	}
	t.word[i] = time.Now()
	if t.words() < h.quorum {
		if t.timer == nil {
			t.timer = time.AfterFunc(gather, func() { h.gathered(t) })
		}
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	h.wake(t)
}

// gathered is what t's timer runs: close can stop none that fires this moment.
func (h *hub) gathered(t *topic) {
	h.mu.Lock() // close is before us, or waits for wake
	defer h.mu.Unlock()
	if h.ctx.Err() == nil {
		h.active.Start(func() { h.wake(t) })
	}
}

// wake wakes the watchers of t if there was word since they were woken.
func (h *hub) wake(t *topic) {
	h.mu.Lock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	var all []*watcher
	if t.words() > 0 {
		t.woken = time.Now()
		for w := range t.watchers {
			all = append(all, w)
		}
	}
	h.mu.Unlock()
	for _, w := range all {
		w.wake()
	}
}

// close has the subscriptions end. The caller waits for active.
func (h *hub) close() {
	h.mu.Lock() // no watch is between its check and its start
	defer h.mu.Unlock()
	h.cancel()
	for _, t := range h.topics {
		if t.timer != nil {
			t.timer.Stop()
		}
	}
}
