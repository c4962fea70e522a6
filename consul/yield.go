package consul

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/internal/pause"
)

const (
	// yieldFor is how long an attempt lets others go first after this session
	// has released a key that they want. It is over as soon as one of them has
	// the key.
	yieldFor = 50 * time.Millisecond
	// yieldPause is the least time between two looks meanwhile.
	yieldPause = 5 * time.Millisecond
	// maxSkip bounds the turns between two questions, as a power of two.
	maxSkip = 10
	// maxPresumed is how often in a row others are taken to have had their turn.
	maxPresumed = 3
)

// gaveUp notes that this session released name, at index, while others want
// it.
func (h *hub) gaveUp(name string, index uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on(name).gave = index
}

// yields lets others go first after gaveUp, and reports whether one did. They
// have to be woken before they can try, so that without this a session that
// comes back at once would always be before them. If nobody takes the entry
// that says little of who is slow to come, so they are asked again, but after
// more and more turns. That they could not be asked says nothing of them.
func (h *hub) yields(ctx context.Context, name string) bool {
	h.mu.Lock()
	t := h.topics[name]
	if t == nil || t.gave == 0 {
		h.mu.Unlock()
		return false
	}
	gave := t.gave
	t.gave = 0
	asks := t.skip == 0
	t.skip = max(t.skip-1, 0)
	h.mu.Unlock()
	if !asks {
		return false
	}
	took, err := h.othersTake(ctx, t, gave)
	if err != nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.declined++; took != noTurn {
		t.declined = 0
	}
	t.skip = 1<<min(t.declined, maxSkip) - 1
	return took == theirTurn
}

// A turn is what others make of being let go first.
type turn int

const (
	noTurn    turn = iota
	theirTurn      // one has the entry
	turnOver       // one had it, it seems
)

// othersTake waits until somebody takes t's entry after gave, for yieldFor. On
// an entry that is not there a query returns at every write to the store, hence
// the pauses. It is not worth waiting for a connection.
func (h *hub) othersTake(ctx context.Context, t *topic, gave uint64) (turn, error) {
	index := gave
	for end := time.Now().Add(yieldFor); ; {
		entry, at, err := h.query(ctx, t.name, index, max(time.Until(end), time.Millisecond))
		switch {
		case err != nil:
			return noTurn, err
		case h.note(t, entry, at):
			return theirTurn, nil
		case index == gave && h.presume(t, gave, at):
			return turnOver, nil
		case time.Until(end) < yieldPause:
			return noTurn, nil
		}
		index = at
		if err := pause.For(ctx, yieldPause); err != nil {
			return noTurn, err
		}
	}
}

// presume takes t's entry, which nobody has at index, for one that somebody has taken
// and released since gave. Both may be looking the other way, each letting the other
// go first. It can be wrong: one write of another entry can bring two indexes. So it is
// presumed maxPresumed times in a row at most.
func (h *hub) presume(t *topic, gave, index uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index < gave+2 || t.presumed == maxPresumed {
		return false
	}
	t.presumed++
	t.seen = time.Now() // who is taken to have had a turn is taken to be about
	return true
}
