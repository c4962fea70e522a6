package postgres

import (
	"slices"
	"time"
)

const (
	// grace is how long those behind somebody in a queue let that one go first.
	grace = 20 * time.Millisecond
	// maxAhead bounds how often.
	maxAhead = 3
	// maxMissed is after how many turns that others took the first of a queue is
	// forgotten: it has crashed, or is too slow to be waited for.
	maxMissed = 4
)

// What is said on a lock's channel. A release says nothing but itself.
const (
	released = ""
	joins    = "joins"  // the sender waits from now on
	leaves   = "leaves" // and does not any more
)

// A queue is who waits for a lock, by the process ids of their lock connections.
// The server delivers what is said on a channel to all in one order, so those
// that have listened for long enough agree on it. Who has not, or has
// missed something, errs about whose turn it is, and that is all: the lock alone
// decides who has it. The zero value is empty.
type queue struct {
	pids   []uint32 // first come, first served
	called uint32   // the first one, as of the last release
	missed int      // how many releases ago it was called first
}

// hear takes in what pid has said.
func (q *queue) hear(pid uint32, what string) {
	i := slices.Index(q.pids, pid)
	switch {
	case what == joins && i < 0:
		q.pids = append(q.pids, pid)
	case what != joins && i >= 0:
		q.pids = slices.Delete(q.pids, i, i+1)
	}
	if what == released {
		q.call()
	}
}

// call notes that it is the first one's turn.
func (q *queue) call() {
	if q.missed++; len(q.pids) > 0 && q.pids[0] == q.called && q.missed == maxMissed {
		q.pids = slices.Delete(q.pids, 0, 1)
	}
	switch {
	case len(q.pids) == 0:
		q.called = 0
	case q.pids[0] != q.called:
		q.called, q.missed = q.pids[0], 0
	}
}

// has reports whether pid is known to wait.
func (q *queue) has(pid uint32) bool { return slices.Contains(q.pids, pid) }

// pause is how long pid lets others go first once the lock is free.
func (q *queue) pause(pid uint32) time.Duration {
	ahead := slices.Index(q.pids, pid)
	if ahead < 0 {
		ahead = len(q.pids)
	}
	return time.Duration(min(ahead, maxAhead)) * grace
}
