package consul

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/consul/api"
)

const (
	// waitFor is how long the agent may keep a blocking query.
	waitFor = 30 * time.Second
	// lookAgain is when the hub looks again at an entry that was not there,
	// unless an attempt was refused before. On an entry that is not there a
	// query returns at every write to the store.
	lookAgain = 250 * time.Millisecond
	// afterError is when it tries again after a query that failed.
	afterError = time.Second
)

// Watch listens for the end of the lock on key. It needs a connection of its
// own while it waits; beyond maxWaits of them keys are polled.
func (s *session) Watch(key string, wake func()) (stop func()) {
	return s.hub.watch(entryName(s.backend.opts.Prefix, key), wake)
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
	if t.stop == nil {
		ctx, cancel := context.WithCancel(h.ctx)
		t.stop = cancel
		h.active.Go(func() { h.listen(ctx, t) })
	} else {
		h.active.Go(wake) // not under our caller's locks
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(t.watchers, w)
		t.used = time.Now()
		if len(t.watchers) == 0 && t.stop != nil {
			t.stop()
			t.stop = nil
		}
	}
}

// listen is the goroutine that queries t's entry while it is watched. What
// goes wrong here costs a waiter one poll interval, so no error is reported.
func (h *hub) listen(ctx context.Context, t *topic) {
	select {
	case h.backend.waits <- struct{}{}:
		defer func() { <-h.backend.waits }()
	case <-ctx.Done():
		return
	}
	index := h.since(t)
	for ctx.Err() == nil {
		entry, at, err := h.backend.await(ctx, t.name, index, waitFor)
		switch {
		case err != nil:
			index = 0
			t.pause(ctx, afterError)
		case h.note(t, isLocked(entry), at):
			index = at
		default:
			index = at
			h.wake(t)
			t.pause(ctx, lookAgain)
		}
	}
}

// since is the index after which a change is news: that of a lock that is
// known. Otherwise the first query answers at once.
func (h *hub) since(t *topic) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.held {
		return t.index
	}
	return 0
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

// pause waits until an attempt was refused, or for d, jittered.
func (t *topic) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d - rand.N(d/4))
	defer timer.Stop()
	select {
	case <-t.kick:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func isLocked(entry *api.KVPair) bool { return entry != nil && entry.Session != "" }
