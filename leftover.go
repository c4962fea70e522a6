package distlock

import (
	"context"
	"errors"
	"time"
)

// maxCleaners bounds the goroutines that clean up for one client at a time. Each
// waits for one answer, so this is also how many a round trip can bring.
const maxCleaners = 64

// recheck are the pauses after which a leftover that was not found is looked
// for again: its request may still be on its way to the server. The first ones
// stay under a second together; the last ones are for a network that is slower
// yet, and for a server that froze with the request or keeps it through an
// election (Consul's agents do for 7 s).
var recheck = [...]time.Duration{
	40 * time.Millisecond, 160 * time.Millisecond, 600 * time.Millisecond, 3 * time.Second, 15 * time.Second,
}

// firstBound is how long the first try to clean up may take, so that servers
// that hang hold up the others' leftovers for no longer.
const firstBound = 400 * time.Millisecond

// afterRenewal is how often a leftover looks whether a renewal is still under
// way; its bound is a third of the TTL.
const afterRenewal = 100 * time.Millisecond

// A leftover is what may be on the server without anybody here who wants it: a
// grant whose answer never came or came too late, a release without an
// answer, a lost lease, or a whole session that has ended. It is deleted, by
// owner id, until the server has answered or its lifetime there is over. It
// is a user of its session. Guarded by Client.mu.
type leftover struct {
	place   slot
	client  *Client
	session *session
	lease   *Lease  // that it is of; nil: the session itself
	missed  int     // how often the server knew of nothing
	failed  int     // how often it gave no answer
	from    Instant // when the first look is due: behind a lock-delay
	expires Instant // when the server has forgotten it by itself
}

// dust is a client's leftovers.
type dust struct {
	count    int           // all that are not done with
	due      []*leftover   // waiting for a cleaner, never looked at before
	again    []*leftover   // likewise, after those
	cleaners int           // goroutines at it
	gone     chan struct{} // made by sweep, closed when count is 0
}

// clean puts a leftover on the agenda, to be looked at after delay. c.mu is
// held.
func (c *Client) clean(f *leftover, delay time.Duration) {
	f.client = c
	now := c.now()
	terms := f.session.terms
	if f.lease != nil {
		terms = f.lease.hold.Terms
	}
	f.from = now.Add(delay)
	f.expires = f.from.Add(terms.Lifetime())
	f.session.users++
	c.dust.count++
	c.schedule(f, f.from)
}

// cleanHold cleans up what the server may have of l. c.mu is held.
func (c *Client) cleanHold(l *Lease, delay time.Duration) {
	if l.session.over {
		return // goes with its session
	}
	c.clean(&leftover{session: l.session, lease: l}, delay)
}

func (f *leftover) slot() *slot { return &f.place }

func (f *leftover) ahead(Instant) bool { return false }

// fire hands f to a cleaner, but not beside a renewal: that could arrive last.
func (f *leftover) fire(now Instant, _ batches) {
	c := f.client
	if f.lease != nil && f.lease.inflight != nil {
		c.schedule(f, now.Add(afterRenewal))
		return
	}
	if f.missed+f.failed == 0 {
		c.dust.due = append(c.dust.due, f)
	} else {
		c.dust.again = append(c.dust.again, f)
	}
	if c.dust.cleaners < maxCleaners {
		c.dust.cleaners++
		c.spawn(c.cleaner)
	}
}

// next takes out what a cleaner should do next: what has not been looked at yet
// comes first, since that is most likely there. Nil is nothing.
func (d *dust) next() (f *leftover) {
	switch {
	case len(d.due) > 0:
		f, d.due = d.due[0], d.due[1:]
	case len(d.again) > 0:
		f, d.again = d.again[0], d.again[1:]
	}
	return f
}

// cleaner is a goroutine that works off what is due and ends when that is done.
func (c *Client) cleaner() {
	c.mu.Lock()
	for f := c.dust.next(); f != nil; f = c.dust.next() {
		closing := c.isClosing()
		gone := f.session.over && f.lease != nil
		c.unlock()
		var err error
		if !gone {
			err = f.delete()
		}
		c.mu.Lock()
		f.settle(err, gone || closing)
	}
	c.dust.cleaners--
	c.unlock()
}

// delete asks the server, bounded, to forget f.
func (f *leftover) delete() error {
	if f.lease == nil {
		err := f.session.closeAPI(f.session.api)
		f.report(err)
		return nil // it was told; the rest is its lifetime's
	}
	bound := closeBound
	if f.failed == 0 {
		bound = firstBound
	}
	ctx, cancel := context.WithTimeout(f.client.base, bound)
	defer cancel()
	err := f.lease.giveUp(ctx)
	if errors.Is(err, ErrLost) {
		f.report(nil)
	} else {
		f.report(err)
	}
	return err
}

func (f *leftover) report(err error) {
	if t := f.client.trace.CleanedUp; t != nil {
		i := CleanupInfo{Backend: f.client.info.Name, Err: err}
		if f.lease != nil {
			i.Key = f.lease.hold.Key
		}
		t(i)
	}
}

// settle decides whether f is done with or looked at again. c.mu is held.
func (f *leftover) settle(err error, final bool) {
	c := f.client
	now := c.now()
	var pause time.Duration
	switch {
	case err == nil || final:
		if f.lease != nil {
			c.freed(f.lease.hold.Key)
		}
		f.drop()
		return
	case errors.Is(err, ErrLost):
		if f.missed == len(recheck) {
			f.drop()
			return
		}
		pause = recheck[f.missed]
		f.missed++
	default:
		f.failed++
		pause = jitter(min(100*time.Millisecond<<min(f.failed, 4), pollEvery))
	}
	if now >= f.expires {
		if f.session.keeper != nil && !errors.Is(err, ErrLost) { // alive, so the key is too
			f.session.retire()
		}
		f.drop()
		return
	}
	if c.isClosing() { // by now: sweep has missed it
		pause = 0
	}
	c.schedule(f, now.Add(pause))
}

// drop is called once, when f is done with. c.mu is held.
func (f *leftover) drop() {
	c := f.client
	c.dropUse(f.session)
	c.dust.count--
	if c.dust.count == 0 && c.dust.gone != nil {
		close(c.dust.gone)
		c.dust.gone = nil
	}
}

// sweep has every leftover looked at now, for the last time, except those of
// lost leases whose lock-delay goes on: what lives by itself is left to the
// server, and what lives by its session keeps Close waiting. It returns a
// channel that is closed when no leftover remains. c.mu is held.
func (c *Client) sweep() <-chan struct{} {
	gone := make(chan struct{})
	now := c.now()
	for _, e := range append(entries(nil), c.agenda.entries...) {
		f, ok := e.(*leftover)
		switch {
		case !ok:
		case f.from <= now:
			c.schedule(f, now)
		case f.session.keeper == nil:
			c.unschedule(f)
			f.drop()
		}
	}
	if c.dust.count == 0 {
		close(gone)
	} else {
		c.dust.gone = gone
	}
	return gone
}

// retire lets a Keeper's session take no new acquisitions, so that it ends
// with the leases it has. c.mu is held.
func (s *session) retire() {
	s.retired = true
	s.client.removeSession(s)
}
