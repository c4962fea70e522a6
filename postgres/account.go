package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
)

// An entry says that an owner has a lock on the connection, or may have it.
type entry struct {
	key   string
	owner distlock.Owner
	call  *call          // under way: an acquire or a release; nil: held
	token distlock.Token // 0: not granted yet
	delay bool           // one is owed if the holder is lost
}

// is reports whether e is of this owner's request.
func (e *entry) is(key string, owner distlock.Owner) bool {
	return e != nil && e.owner == owner && e.key == key
}

// begin has the key asked for, or finds the same request: under way, or granted,
// and then the call is nil.
func (s *session) begin(r distlock.Request) (*call, distlock.Token, error) {
	id := ID(s.namespace, r.Key)
	s.mu.Lock()
	if e := s.keys[id]; e != nil {
		defer s.mu.Unlock()
		switch {
		case !e.is(r.Key, r.Owner) || e.call != nil && e.call.verb != acquire:
			return nil, 0, distlock.Held(0)
		case e.call != nil:
			return e.call, 0, nil
		}
		return nil, e.token, nil
	}
	c := newCall(acquire, id)
	c.key, c.holder, c.delay = r.Key, r.Holder, r.Terms.LockDelay
	e := &entry{key: r.Key, owner: r.Owner, call: c, delay: r.Terms.LockDelay > 0}
	c.after = func() { s.answered(e, c) }
	s.keys[id] = e
	s.mu.Unlock()
	s.lane.start(c)
	return c, 0, nil
}

// granted reads the answer to an acquire: the token, or 0 and how long a
// lock-delay goes on.
func (c *call) granted() (distlock.Token, time.Duration) {
	switch {
	case len(c.row) < 3:
		return 0, 0
	case c.row[2] > 0:
		return 0, time.Duration(c.row[2]) * time.Millisecond
	}
	return distlock.Token(c.row[1]), 0
}

// answered enters the outcome of the acquire c that e began with.
func (s *session) answered(e *entry, c *call) {
	s.mu.Lock()
	token, rest := c.granted()
	var back []*call
	switch {
	case c.err != nil || token == 0 && rest == 0:
		delete(s.keys, c.id)
	case rest > 0:
		e.delay = false // what is owed is another's
		back = s.giveBack(c.id, e)
	default:
		e.call, e.token = nil, token
	}
	s.mu.Unlock()
	s.lane.start(back...)
}

// giveBack makes the calls that release e. s.mu is held.
func (s *session) giveBack(id int64, e *entry) []*call {
	c := newCall(release, id)
	c.after = func() {
		s.mu.Lock()
		delete(s.keys, id)
		s.mu.Unlock()
	}
	e.call = c
	if e.delay {
		return []*call{newCall(settle, id), c}
	}
	return []*call{c}
}

// lookForBroken has the server asked which locks are to be let go of.
func (s *session) lookForBroken() {
	var calls []*call
	s.mu.Lock()
	for id, e := range s.keys {
		if e.call == nil {
			c := newCall(broken, id)
			c.after = func() { s.letGo(c) }
			calls = append(calls, c)
		}
	}
	s.mu.Unlock()
	s.lane.start(calls...)
}

// letGo gives a lock back that c has found broken, once its lease has ended. The
// lock-delay that is owed is not the holder's any more.
func (s *session) letGo(c *call) {
	s.mu.Lock()
	e := s.keys[c.id]
	if c.err != nil || len(c.row) < 2 || e == nil || e.call != nil || e.token != distlock.Token(c.row[1]) {
		s.mu.Unlock()
		return
	}
	e.delay = false
	back, lost := s.giveBack(c.id, e), s.lost
	s.mu.Unlock()
	if lost != nil {
		lost(e.owner, errBroken)
	}
	s.lane.start(back...)
}

var errBroken = errors.New("the lock was broken by an operator")

// gone waits until what owner has of a lock is given back.
func (s *session) gone(ctx context.Context, id int64, owner distlock.Owner) error {
	s.mu.Lock()
	e := s.keys[id]
	s.mu.Unlock()
	if e == nil || e.owner != owner || e.call == nil {
		return nil
	}
	return e.call.await(ctx)
}
