package distlock

import (
	"context"
	"errors"
	"time"
)

// maxCleaners bounds the goroutines that clean up for one client at a time.
const maxCleaners = 8

// recheck are the pauses after which a leftover that was not found is looked
// for again: its request may still be on its way to the server. Together they
// stay under a second.
var recheck = [...]time.Duration{40 * time.Millisecond, 160 * time.Millisecond, 600 * time.Millisecond}

// A leftover is what may be on the server without anybody here who wants it: a
// grant whose answer never came or came too late, a release without an
// answer, a lost lease, or a whole session that has ended. It is deleted, by
// owner id, until the server has answered or its lifetime there is over. It
// is a user of its session. Guarded by Client.mu.
type leftover struct {
	place   slot
	client  *Client
	session *session
	hold    Hold
	whole   bool    // the session itself
	missed  int     // how often the server knew of nothing
	failed  int     // how often it gave no answer
	expires Instant // when the server has forgotten it by itself
}

// dust is a client's leftovers.
type dust struct {
	count    int           // all that are not done with
	due      []*leftover   // waiting for a cleaner
	cleaners int           // goroutines at it
	gone     chan struct{} // made by sweep, closed when count is 0
}

// clean puts a leftover on the agenda, to be looked at after delay. c.mu is
// held.
func (c *Client) clean(f *leftover, delay time.Duration) {
	f.client = c
	now := c.now()
	lifetime := f.hold.Terms.Lifetime()
	if f.whole {
		lifetime = f.session.terms.Lifetime()
	}
	f.expires = now.Add(delay + lifetime)
	f.session.users++
	c.dust.count++
	c.schedule(f, now.Add(delay))
}

// cleanHold cleans up what the server may have of l. c.mu is held.
func (c *Client) cleanHold(l *Lease, delay time.Duration) {
	if l.session.over {
		return // goes with its session
	}
	c.clean(&leftover{session: l.session, hold: l.hold}, delay)
}

func (f *leftover) slot() *slot { return &f.place }

func (f *leftover) ahead(Instant) bool { return false }

// fire hands f to a cleaner.
func (f *leftover) fire(Instant, batches) {
	c := f.client
	c.dust.due = append(c.dust.due, f)
	if c.dust.cleaners < maxCleaners {
		c.dust.cleaners++
		c.spawn(c.cleaner)
	}
}

// cleaner is a goroutine that works off what is due and ends when that is done.
func (c *Client) cleaner() {
	c.mu.Lock()
	for len(c.dust.due) > 0 {
		f := c.dust.due[0]
		c.dust.due = c.dust.due[1:]
		closing := c.isClosed
		gone := f.session.over && !f.whole
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
	if f.whole {
		err := f.session.closeAPI(f.session.api)
		f.report(err)
		return nil // it was told; the rest is its lifetime's
	}
	ctx, cancel := context.WithTimeout(f.client.base, closeBound)
	defer cancel()
	err := f.session.api.Release(ctx, f.hold)
	if errors.Is(err, ErrLost) {
		f.report(nil)
	} else {
		f.report(err)
	}
	return err
}

func (f *leftover) report(err error) {
	if t := f.client.trace.CleanedUp; t != nil {
		t(CleanupInfo{Backend: f.client.info.Name, Key: f.hold.Key, Err: err})
	}
}

// settle decides whether f is done with or looked at again. c.mu is held.
func (f *leftover) settle(err error, final bool) {
	c := f.client
	now := c.now()
	var pause time.Duration
	switch {
	case err == nil || final:
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
		case f.missed+f.failed > 0:
			c.schedule(f, now)
		case f.place.at > now && f.session.keeper == nil:
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
