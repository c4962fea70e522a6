package distlock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// maxSessions bounds the sessions of one client that take acquisitions;
	// only session services have more than one, one for each Terms in use.
	maxSessions = 16
	// openBound is how long the opening of a session may take.
	openBound = 10 * time.Second
	// closeBound is how long a release and the end of a session may take.
	closeBound = 5 * time.Second
	forever    = Instant(math.MaxInt64)
)

// drift is how much earlier the client counts a lifetime as over than the
// server: 1 % for clocks that run at different rates, 2 ms for the server's
// resolution. It is the convention of the Redlock algorithm's implementations.
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// renewEvery is when a renewal is due after the last one was sent.
func renewEvery(ttl time.Duration) time.Duration { return ttl / 3 }

// retryAfter is the pause after a renewal that failed.
func retryAfter(ttl time.Duration) time.Duration {
	return min(max(ttl/12, 5*time.Millisecond), time.Second)
}

// early is how much before it is due a renewal may go in the company of others.
func early(ttl time.Duration) time.Duration { return ttl / 12 }

// minLeft is the least validity with which a lease is handed over.
func minLeft(ttl time.Duration) time.Duration { return ttl / 4 }

// A session is the core's side of a backend's Session.
type session struct {
	client *Client
	key    Terms // in Client.sessions
	terms  Terms
	opened chan struct{} // closed when open has ended
	ctx    context.Context
	cancel context.CancelCauseFunc // ends waits in the service's queue
	place  slot

	// Set by open before opened is closed.
	err     error
	api     Session
	renewer Renewer
	keeper  Keeper // nil where each grant has a lifetime of its own
	queuer  Queuer
	waker   Waker
	ttl     time.Duration // of a Keeper: how long a renewal is good for, before drift

	until atomic.Int64 // an Instant; of a Keeper

	// Guarded by Client.mu.
	isOpen   bool
	over     bool // dead or closed: never used again
	retired  bool // takes no new acquisitions, ends with its last user
	users    int  // leases, calls and leftovers
	idle     Instant
	due      Instant
	renewed  Instant // when the last renewal that succeeded was sent
	renewing bool
	answered chan struct{} // closed at the end of each KeepAlive
	lastErr  error
	warned   bool             // its holders were, that renewals fail
	leases   map[Owner]*Lease // of a Keeper, from before the attempt on
}

// use returns the open session for terms and counts the caller as a user;
// unuse takes that back. On failure nothing is counted.
func (c *Client) use(ctx context.Context, terms Terms) (*session, error) {
	key := terms
	if !c.info.SessionPerTerms {
		key, terms = Terms{}, c.defaults.terms
	}
	for {
		c.mu.Lock()
		s, err := c.find(key, terms)
		if err != nil {
			c.unlock()
			return nil, err
		}
		s.users++
		isOpen := s.isOpen
		c.unlock()
		if isOpen {
			return s, nil
		}
		if err := s.await(ctx); err != nil {
			c.unuse(s)
			return nil, err
		}
		c.mu.Lock()
		over := s.over
		c.unlock()
		if !over {
			return s, nil
		}
		c.unuse(s)
	}
}

// find returns the session under key or begins to open one. c.mu is held.
func (c *Client) find(key, terms Terms) (*session, error) {
	if c.isClosing() {
		return nil, ErrClosed
	}
	if s := c.sessions[key]; s != nil {
		return s, nil
	}
	if len(c.sessions) >= maxSessions {
		return nil, Invalid("sessions", strconv.Itoa(maxSessions+1), "at most "+strconv.Itoa(maxSessions)+
			" different TTLs and lock-delays in use by one client")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &session{
		client: c, key: key, terms: terms, ctx: ctx, cancel: cancel,
		opened: make(chan struct{}), answered: make(chan struct{}),
	}
	c.sessions[key] = s
	c.spawn(s.open)
	return s, nil
}

// await waits until s is open.
func (s *session) await(ctx context.Context) error {
	select {
	case <-s.opened:
		return s.err
	case <-ctx.Done():
		return ended(ctx)
	case <-s.client.closing:
		return ErrClosed
	}
}

// unuse takes back one use.
func (c *Client) unuse(s *session) {
	c.mu.Lock()
	c.dropUse(s)
	c.unlock()
}

// dropUse takes back one use; the last one starts the idle time of a Keeper.
// c.mu is held.
func (c *Client) dropUse(s *session) {
	s.users--
	if s.users > 0 || !s.isOpen || s.keeper == nil || s.over {
		return
	}
	s.idle = c.now()
	if s.retired {
		c.finish(s, nil, 0)
	}
}

// open is the goroutine that opens s. Calls that wait for it come and go by
// their own contexts.
func (s *session) open() {
	c := s.client
	ctx, cancel := context.WithTimeout(c.base, openBound)
	defer cancel()
	sent := c.now()
	api, err := c.backend.Open(ctx, s.terms)
	if err != nil {
		err = fmt.Errorf("open session: %w", inner(err))
	} else {
		err = s.adopt(api, sent)
	}
	c.mu.Lock()
	ended := s.over // the service has said so already: see notified
	switch {
	case err == nil && ended:
		err = errSessionOver
	case err == nil && c.isClosing():
		err = ErrClosed
	}
	s.err = err
	if err == nil {
		s.isOpen = true
		if s.keeper != nil {
			s.idle = sent
			s.reschedule()
		}
	} else {
		s.over = true
		c.removeSession(s)
		s.cancel(err)
	}
	close(s.opened)
	c.unlock()
	if err != nil && api != nil && !ended {
		_ = s.closeAPI(api) // the caller is told why
	}
}

// adopt finds out what api can do. It is called before anybody else sees it.
func (s *session) adopt(api Session, sent Instant) error {
	c := s.client
	s.api = api
	s.renewer, _ = api.(Renewer)
	keeper, isKeeper := api.(Keeper)
	if c.info.SessionPerTerms != isKeeper || !isKeeper && s.renewer == nil {
		return fmt.Errorf("backend %s: its session does not do what Info says", c.info.Name)
	}
	s.waker, _ = api.(Waker)
	if isKeeper {
		s.queuer, _ = api.(Queuer)
		s.keeper = keeper
		s.leases = make(map[Owner]*Lease)
		s.ttl = min(keeper.Lifetime()-max(s.terms.LockDelay, 0), s.terms.TTL)
		s.until.Store(int64(s.untilFrom(sent)))
		s.renewed, s.due = sent, sent.Add(renewEvery(s.ttl))
		if Instant(s.until.Load()) <= c.now() {
			return errors.New("open session: the answer came after its lifetime")
		}
		if n, ok := api.(LossNotifier); ok {
			n.NotifyLoss(s.notified)
		}
	}
	return nil
}
