package locktest_test

import (
	"context"
	"errors"
	"sync"
)

var errReset = errors.New("connection reset")

// A wire is a Link for backends in memory. A nil wire lets everything pass.
type wire struct {
	mu      sync.Mutex // guards all below
	swallow [2]bool    // requests, replies
	changed chan struct{}
}

func newWire() *wire { return &wire{changed: make(chan struct{})} }

func (w *wire) Swallow()        { w.set(true, true) }
func (w *wire) SwallowReplies() { w.set(false, true) }
func (w *wire) Restore()        { w.set(false, false) }
func (w *wire) Reset()          { w.mu.Lock(); defer w.mu.Unlock(); w.wake() }

func (w *wire) set(requests, replies bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.swallow = [2]bool{requests, replies}
	w.wake()
}

func (w *wire) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *wire) request(ctx context.Context) error { return w.pass(ctx, 0) }
func (w *wire) reply(ctx context.Context) error   { return w.pass(ctx, 1) }

// pass returns nil at once if direction is open, and else an error: when ctx
// ends, or when something changes.
func (w *wire) pass(ctx context.Context, direction int) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	swallow, changed := w.swallow[direction], w.changed
	w.mu.Unlock()
	if !swallow {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
		return errReset
	}
}
