package distlock

import (
	"container/list"
	"context"
)

// A line is the queue of this client's goroutines for one key, first come
// first served. Only its head talks to the service. It exists while somebody
// stands in it or a lease of this client is on the key. Guarded by Client.mu.
type line struct {
	key     string
	waiters list.List     // of *place; the front is the head
	lease   *Lease        // of this client, handed over and not known to be gone
	wake    chan struct{} // tells the head to try now; capacity 1; nil without waiters

	// The head's own, handed on with headship.
	watched *session // whose Watch is on; we are a user of it
	unwatch func()
	failing Instant // since when no attempt was answered; 0: the last one was
	failed  error   // what the last one came to, if failing
}

// A place is one goroutine's place in a line.
type place struct {
	turn chan struct{} // closed when it becomes the head
	elem *list.Element
}

// lineFor returns the line of key, making it if needed. c.mu is held.
func (c *Client) lineFor(key string) *line {
	ln := c.lines[key]
	if ln == nil {
		ln = &line{key: key}
		c.lines[key] = ln
	}
	return ln
}

// queued reports whether somebody waits for key. c.mu is held.
func (c *Client) queued(key string) bool {
	ln := c.lines[key]
	return ln != nil && ln.waiters.Len() > 0
}

// lineUp takes a place in the line of key. c.mu is held.
func (c *Client) lineUp(key string) (*line, *place) {
	ln := c.lineFor(key)
	p := &place{}
	p.elem = ln.waiters.PushBack(p)
	if ln.waiters.Len() > 1 {
		p.turn = make(chan struct{})
	} else {
		ln.wake = make(chan struct{}, 1)
	}
	return ln, p
}

// await returns nil when p has become the head of ln.
func (p *place) await(ctx context.Context, c *Client) error {
	if p.turn == nil {
		return nil
	}
	select {
	case <-p.turn:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	case <-c.closing:
		return ErrClosed
	}
}

// leave gives p up. If it was the head, the next in line is.
func (c *Client) leave(ln *line, p *place) {
	c.mu.Lock()
	wasHead := ln.waiters.Front() == p.elem
	ln.waiters.Remove(p.elem)
	if next := ln.waiters.Front(); wasHead && next != nil {
		close(next.Value.(*place).turn)
	}
	if ln.waiters.Len() == 0 {
		ln.wake = nil // a lease that is held for long needs none
		if ln.unwatch != nil {
			c.after = append(c.after, ln.unwatch)
			ln.watched, ln.unwatch = nil, nil
		}
	}
	c.dropLine(ln)
	c.unlock()
}

// dropLine forgets ln if nothing keeps it. c.mu is held.
func (c *Client) dropLine(ln *line) {
	if ln.waiters.Len() == 0 && ln.lease == nil {
		delete(c.lines, ln.key)
	}
}

// takeOver notes that l has the key now. A hint that came before is stale: it
// was for this grant. c.mu is held.
func (c *Client) takeOver(l *Lease) {
	ln := c.lineFor(l.hold.Key)
	ln.lease = l
	select {
	case <-ln.wake:
	default:
	}
}

// handOver notes that l has its key no more, and wakes the head of the line.
// c.mu is held.
func (c *Client) handOver(l *Lease) {
	ln := c.lines[l.hold.Key]
	if ln == nil || ln.lease != l {
		return
	}
	ln.lease = nil
	ln.nudge()
	c.dropLine(ln)
}

// ours reports whether a lease of this client is on ln's key, so that its end
// will tell. A release that has had no answer for a while tells nothing.
func (c *Client) ours(ln *line) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ln.lease != nil && (ln.lease.kept || c.now() < ln.lease.releasedAt.Add(pollEvery))
}

// hint is what the service says of a key: it may be free. While a lease of
// this client is on it, its end will tell sooner.
func (c *Client) hint(ln *line) {
	c.mu.Lock()
	if ln.lease == nil {
		ln.nudge()
	}
	c.mu.Unlock()
}

// freed tells the head of the line that key may be free, as nobody here has it.
// c.mu is held.
func (c *Client) freed(key string) {
	if ln := c.lines[key]; ln != nil && ln.lease == nil {
		ln.nudge()
	}
}

func (ln *line) nudge() {
	select {
	case ln.wake <- struct{}{}:
	default:
	}
}

// watch listens for hints on ln through s. Only the head calls it.
func (c *Client) watch(ln *line, s *session) {
	if ln.watched == s || s == nil || s.waker == nil {
		return
	}
	c.mu.Lock()
	if s.over {
		c.unlock()
		return
	}
	s.users++ // it must not be idle while we listen
	c.unlock()
	stop := s.waker.Watch(ln.key, func() { c.hint(ln) })
	c.mu.Lock()
	if ln.unwatch != nil {
		c.after = append(c.after, ln.unwatch)
	}
	ln.watched, ln.unwatch = s, func() { stop(); c.unuse(s) }
	c.unlock()
}
