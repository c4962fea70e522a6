package redlock

import (
	"sync/atomic"
	"testing"
	"time"
)

// deaf returns a hub of three nodes that nobody listens to, for a majority of
// two.
func deaf(channel string) *hub {
	h := newHub(nil, 2)
	for range 3 {
		h.ears = append(h.ears, &ear{running: true, asked: map[string]bool{channel: true}})
	}
	return h
}

// Stands for: a wake-up that came from the timer outlived Close.
func TestCloseWaitsForALateWakeUp(t *testing.T) {
	t.Parallel()
	h := deaf("k")
	began, end := make(chan struct{}), make(chan struct{})
	var over atomic.Bool
	h.watch("k", func() {
		close(began)
		<-end
		over.Store(true)
	})
	h.word(0, "k") // one node's: the rest is up to the timer
	<-began
	h.close()
	time.AfterFunc(50*time.Millisecond, func() { close(end) })
	h.active.Wait()
	if !over.Load() {
		t.Error("the hub is closed, and a wake-up still under way")
	}
}

// Stands for: a timer that had fired woke watchers of a session that was closed
// meanwhile.
func TestNoWakeUpBeginsAfterClose(t *testing.T) {
	t.Parallel()
	h := deaf("k")
	var woken atomic.Int64
	h.watch("k", func() { woken.Add(1) })
	h.mu.Lock()
	topic := h.topics["k"]
	topic.word[0] = time.Now()
	h.mu.Unlock()
	h.close()
	h.gathered(topic)
	h.active.Wait()
	if n := woken.Load(); n != 0 {
		t.Errorf("%d wake-ups after the end, want none", n)
	}
}
