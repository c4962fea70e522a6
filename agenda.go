package distlock

import (
	"container/heap"
	"time"
)

// maxSleep bounds how long the agenda's goroutine sleeps while it has entries:
// timers stand still while the machine is suspended, so after it wakes a lease
// that ran out meanwhile is noticed within this time.
const maxSleep = time.Second

// An agenda is a client's list of what is to be done when: leases to renew or
// to end, sessions to keep alive, leftovers to clean up. One goroutine works
// it off while there are entries and ends a moment after the last is gone.
// Everything in it is guarded by Client.mu.
type agenda struct {
	entries entries
	running bool
	wakeAt  Instant       // when the goroutine looks next
	poke    chan struct{} // makes it look now; capacity 1
}

// An entry is something with a time at which it wants to be looked at.
type entry interface {
	slot() *slot
	// fire is called at or after the slot's time, with Client.mu held and the
	// entry taken off the agenda. It does no I/O and waits for nothing.
	fire(now Instant, b batches)
	// ahead is asked of the entry that is next in time when others fire: it
	// says whether it would rather go now, together with them.
	ahead(now Instant) bool
}

// slot is an entry's place on the agenda.
type slot struct {
	at  Instant
	pos int // 1-based; 0 is off the agenda
}

func newAgenda() agenda { return agenda{poke: make(chan struct{}, 1)} }

// schedule puts e on the agenda for at, or moves it there. c.mu is held.
func (c *Client) schedule(e entry, at Instant) {
	a, s := &c.agenda, e.slot()
	if s.pos > 0 {
		s.at = at
		heap.Fix(&a.entries, s.pos-1)
	} else {
		s.at = at
		heap.Push(&a.entries, e)
	}
	if !a.running {
		a.running = true
		a.wakeAt = at
		c.spawn(c.workOff)
		return
	}
	if at < a.wakeAt {
		a.wakeAt = at
		a.nudge()
	}
}

// unschedule takes e off the agenda. c.mu is held.
func (c *Client) unschedule(e entry) {
	if s := e.slot(); s.pos > 0 {
		heap.Remove(&c.agenda.entries, s.pos-1)
	}
}

func (a *agenda) nudge() {
	select {
	case a.poke <- struct{}{}:
	default:
	}
}

// workOff is the agenda's goroutine. It ends when it has found nothing to do
// for maxSleep, or at once when the client closes.
func (c *Client) workOff() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	idle := false
	for {
		select {
		case <-timer.C:
		case <-c.agenda.poke:
		}
		c.mu.Lock()
		now := c.now()
		chunks := c.fireDue(now).chunks()
		sleep := maxSleep
		if len(c.agenda.entries) > 0 {
			idle = false
			sleep = min(sleep, max(c.agenda.entries[0].slot().at.Sub(now), 0))
		} else if idle || c.isClosing() {
			c.agenda.running = false
			c.unlock()
			return
		} else {
			idle = true
		}
		c.agenda.wakeAt = now.Add(sleep)
		c.unlock()
		c.send(chunks)
		timer.Reset(sleep)
	}
}

// fireDue fires every entry whose time has come. c.mu is held.
func (c *Client) fireDue(now Instant) batches {
	b := make(batches)
	a := &c.agenda
	for len(a.entries) > 0 {
		e := a.entries[0]
		if e.slot().at > now && (len(b) == 0 || !e.ahead(now)) {
			break
		}
		heap.Pop(&a.entries)
		e.fire(now, b)
	}
	return b
}

// entries is a heap by time.
type entries []entry

func (h entries) Len() int           { return len(h) }
func (h entries) Less(i, j int) bool { return h[i].slot().at < h[j].slot().at }

func (h entries) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot().pos, h[j].slot().pos = i+1, j+1
}

func (h *entries) Push(x any) {
	e := x.(entry)
	*h = append(*h, e)
	e.slot().pos = len(*h)
}

func (h *entries) Pop() any {
	old := *h
	n := len(old) - 1
	e := old[n]
	old[n] = nil
	*h = old[:n]
	e.slot().pos = 0
	return e
}
