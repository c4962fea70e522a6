package consul

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/consul/api"
)

const (
	// waitFor is how long the agent may keep a blocking query. One that its
	// client gives up keeps its connection at the agent until it is answered,
	// and counts there. So none is given up but when the session ends: it is
	// left to end by itself, and serves who waits for the key again.
	waitFor = 5 * time.Second
	// lookAgain is when the hub looks again at an entry that was not there,
	// unless there is news before. On an entry that is not there a query
	// returns at every write to the store.
	lookAgain = 250 * time.Millisecond
	// afterError is when it tries again after a query that failed.
	afterError = time.Second
)

// Watch listens for the end of the lock on key. It needs a connection of its
// own while it waits; beyond maxWaits of them keys are polled.
func (s *session) Watch(key string, wake func()) (stop func()) {
	return s.hub.watch(s.name(key), wake)
}

func (h *hub) watch(name string, wake func()) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return func() {}
	}
	t := h.on(name)
	w := &watcher{wake: wake}
	t.watchers[w] = struct{}{}
	switch {
	case !t.listening:
		t.listening = true
		if !t.held {
			t.index = 0 // so that the first query answers at once
		}
		h.active.Go(func() { h.listen(t) })
	case t.held:
		t.nudge()
	default:
		h.active.Go(wake) // not under our caller's locks
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(t.watchers, w)
		t.used = time.Now()
	}
}

// listen is the goroutine that queries t's entry while it is watched. It ends
// with the first answer that nobody waits for. What goes wrong here costs a
// waiter one poll interval, so no error is reported.
func (h *hub) listen(t *topic) {
	for {
		index, ok := h.next(t)
		if !ok {
			return
		}
		entry, at, err := h.query(h.ctx, t.name, index, waitFor)
		switch {
		case err != nil:
			h.note(t, nil, 0)
			h.pause(t, afterError)
		case !h.note(t, entry, at):
			h.wake(t)
			h.pause(t, lookAgain)
		}
	}
}

// next returns the index after which a change is news. Not ok ends listen.
func (h *hub) next(t *topic) (index uint64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.listening = len(t.watchers) > 0 && h.ctx.Err() == nil
	return t.index, t.listening
}

var errNoConnection = errors.New("all connections for waiting are in use")

// query is await while the backend has less than maxWaits of them under way.
func (h *hub) query(ctx context.Context, name string, index uint64, wait time.Duration) (*api.KVPair, uint64, error) {
	select {
	case h.backend.waits <- struct{}{}:
		defer func() { <-h.backend.waits }()
		return h.backend.await(ctx, name, index, wait)
	default:
		return nil, 0, errNoConnection
	}
}

func (h *hub) wake(t *topic) {
	h.mu.Lock()
	all := make([]*watcher, 0, len(t.watchers))
	for w := range t.watchers {
		all = append(all, w)
	}
	h.mu.Unlock()
	for _, w := range all {
		w.wake()
	}
}

// pause waits until there is news, or for d, jittered.
func (h *hub) pause(t *topic, d time.Duration) {
	timer := time.NewTimer(d - rand.N(d/4))
	defer timer.Stop()
	select {
	case <-t.kick:
	case <-timer.C:
	case <-h.ctx.Done():
	}
}
