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

// newSession takes conn over.
func newSession(b *Backend, conn *pgx.Conn, pid uint32, t distlock.Terms) (*session, error) {
	raw, err := conn.PgConn().Hijack()
	if err != nil {
		hangUp(conn)
		return nil, err
	}
	s := &session{namespace: b.opts.Namespace, terms: t, keys: make(map[int64]*entry)}
	s.hub = newHub(pid, func(calls ...*call) { s.lane.start(calls...) })
	s.lane = newLane(raw, s.namespace, t.TTL, s.hub.hear)
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

// KeepAlive gives the server a sign of life, and hears whether somebody rings.
func (s *session) KeepAlive(ctx context.Context, at distlock.Instant) (distlock.Instant, error) {
	c := newCall(beat, bell(s.lane.pid))
	c.after = func() {
		if c.err == nil && len(c.row) > 1 && c.row[1] == 0 {
			s.lookForBroken()
		}
	}
	return at, s.lane.do(ctx, c)
}

// TryAcquire tries the lock and mints the token.
func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	h := distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms}
	if err := ctx.Err(); err != nil {
		return h, distlock.Refused(err)
	}
	id := ID(s.namespace, r.Key)
	s.hub.yield(ctx, id)
	if err := ctx.Err(); err != nil {
		return h, distlock.Refused(err)
	}
	sent := time.Now()
	c, token, err := s.begin(r)
	if c == nil {
		h.Token = token
		return h, err
	}
	if err := c.await(ctx); err != nil {
		if ctx.Err() != nil {
			c.left.Store(true)
		}
		return h, err
	}
	token, rest := c.granted()
	if rest > 0 { // a lock-delay: it was taken, and is being given back
		if err := s.gone(ctx, c.id, r.Owner); err != nil {
			return h, err
		}
	}
	if token == 0 {
		s.hub.refused(c.id, sent)
		return h, distlock.Held(rest)
	}
	s.hub.granted(id)
	h.Token = token
	return h, nil
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
		if !e.is(h.Key, h.Owner) {
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
