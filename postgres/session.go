package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/jackc/pgx/v5"
)

// A session is one lock connection, and the account of what is on it. PostgreSQL
// grants a lock again to the connection that has it, so the session itself
// refuses keys that it holds or may hold.
type session struct {
	namespace string
	terms     distlock.Terms
	lane      *lane
	hub       *hub

	mu   sync.Mutex // guards all below
	keys map[int64]*entry
	lost func(owner distlock.Owner, cause error)
	end  error // why the connection has ended
}

// An entry says that an owner has a lock on the connection, or may have it.
type entry struct {
	key   string
	owner distlock.Owner
	call  *call // under way: an acquire or a release; nil: held
	asked *call // the acquire that it began with
	token distlock.Token
	delay bool // one is owed if the holder is lost
}

// newSession takes conn over.
func newSession(b *Backend, conn *pgx.Conn, pid uint32, t distlock.Terms) (*session, error) {
	raw, err := conn.PgConn().Hijack()
	if err != nil {
		return nil, err
	}
	s := &session{namespace: b.opts.Namespace, terms: t, keys: make(map[int64]*entry)}
	s.hub = newHub(func(c *call) { s.lane.start(c) })
	s.lane = newLane(raw, s.namespace, s.hub.hear)
	s.lane.pid = int64(pid)
	go s.lane.read(s.ended) // ends with the connection; Close waits for it
	return s, nil
}

// ended is called by the lane when the connection is gone.
func (s *session) ended(cause error) {
	s.mu.Lock()
	s.end = cause
	lost := s.lost
	s.mu.Unlock()
	if lost != nil {
		lost(distlock.Owner{}, cause)
	}
}

// NotifyLoss has lost called when the connection ends.
func (s *session) NotifyLoss(lost func(owner distlock.Owner, cause error)) {
	s.mu.Lock()
	s.lost = lost
	end := s.end
	s.mu.Unlock()
	if end != nil {
		lost(distlock.Owner{}, end)
	}
}

// Lifetime is the server's idle time-out, and then the lock-delay that its end
// begins.
func (s *session) Lifetime() time.Duration { return s.terms.Lifetime() }

// KeepAlive gives the server a sign of life.
func (s *session) KeepAlive(ctx context.Context, at distlock.Instant) (distlock.Instant, error) {
	return at, s.lane.do(ctx, newCall(beat, 0))
}

// TryAcquire tries the lock and mints the token.
func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	h := distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms}
	if err := ctx.Err(); err != nil {
		return h, distlock.Refused(err)
	}
	sent := time.Now()
	e, err := s.begin(r)
	if err != nil {
		return h, err
	}
	if err := e.asked.await(ctx); err != nil {
		if ctx.Err() != nil {
			e.asked.left.Store(true)
		}
		return h, err
	}
	granted, rest := e.asked.granted()
	if rest > 0 { // a lock-delay: it was taken, and is being given back
		s.mu.Lock()
		back := e.call
		s.mu.Unlock()
		if err := back.await(ctx); err != nil {
			return h, err
		}
	}
	if granted == 0 {
		s.hub.refused(e.asked.id, sent)
		return h, distlock.Held(rest)
	}
	h.Token = granted
	return h, nil
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

// begin has the key asked for, or finds the entry of the same owner.
func (s *session) begin(r distlock.Request) (*entry, error) {
	id := ID(s.namespace, r.Key)
	s.mu.Lock()
	e := s.keys[id]
	if e != nil {
		defer s.mu.Unlock()
		if e.owner == r.Owner && e.key == r.Key && (e.call == nil || e.call == e.asked) {
			return e, nil
		}
		return nil, distlock.Held(0)
	}
	c := newCall(acquire, id)
	c.key, c.holder, c.delay = r.Key, r.Holder, r.Terms.LockDelay
	e = &entry{key: r.Key, owner: r.Owner, call: c, asked: c, delay: r.Terms.LockDelay > 0}
	c.after = func() { s.answered(e) }
	s.keys[id] = e
	s.mu.Unlock()
	s.lane.start(c)
	return e, nil
}

// answered enters the outcome of the acquire that e began with.
func (s *session) answered(e *entry) {
	c := e.asked
	s.mu.Lock()
	token, rest := c.granted()
	switch {
	case c.err != nil || token == 0 && rest == 0:
		delete(s.keys, c.id)
	case rest > 0:
		e.delay = false // what is owed is another's
		back := s.giveBack(c.id, e)
		s.mu.Unlock()
		s.lane.start(back...)
		return
	default:
		e.call, e.token = nil, token
	}
	s.mu.Unlock()
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

// Release gives the lock back, if h's owner has it. What it finds under way it
// waits for.
func (s *session) Release(ctx context.Context, h distlock.Hold) error {
	id := ID(s.namespace, h.Key)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.mu.Lock()
		e := s.keys[id]
		if e == nil || e.owner != h.Owner || e.key != h.Key {
			s.mu.Unlock()
			return distlock.ErrLost
		}
		c := e.call
		var send []*call
		if c == nil {
			send = s.giveBack(id, e)
			c = e.call
		}
		s.mu.Unlock()
		s.lane.start(send...)
		err := c.await(ctx)
		if c.verb == release || ctx.Err() != nil {
			return err
		}
	}
}

// Watch listens for the releases of key.
func (s *session) Watch(key string, wake func()) (stop func()) {
	return s.hub.watch(ID(s.namespace, key), wake)
}

// Close ends the connection, and all locks on it.
func (s *session) Close(ctx context.Context) error {
	err := s.lane.goodbye(ctx)
	s.hub.close()
	return err
}
