package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/rediscall"
	"github.com/distlock-go/distlock/internal/redisreply"
	"github.com/distlock-go/distlock/internal/redisscript"
	goredis "github.com/redis/go-redis/v9"
)

// A session is one client's. On the server it is nothing.
type session struct {
	backend *Backend
	lane    lane
	hub     *hub

	closing context.Context // ended by Close
	end     context.CancelFunc
}

func newSession(b *Backend) *session {
	_, isPlain := b.client.(*goredis.Client)
	s := &session{
		backend: b,
		lane:    lane{client: b.bounded, single: !isPlain},
		hub:     newHub(b.client),
	}
	s.closing, s.end = context.WithCancel(context.Background())
	if !b.hooks {
		s.lane.alone = newAlone(b.client)
	}
	return s
}

// bounded is the client with a time-out on its reads: see rediscall.Bounded. That is
// only for a plain client; of others the user's time-outs are all there is.
func bounded(client Client, hooks bool) Client {
	c, ok := client.(*goredis.Client)
	if !ok || c == nil || hooks {
		return client
	}
	return rediscall.Bounded(c)
}

// A grant is the State of a Hold.
type grant struct {
	lock  string // its name
	rest  string // of its value, after the owner
	twice bool   // the request was sent twice; the first copy may still arrive
}

// value is all of the lock's value, as long as h lasts.
func (g *grant) value(h distlock.Hold) string { return h.Owner.Text() + g.rest }

// TryAcquire runs the acquire script. A connection that turns out to be closed
// or stuck is replaced by another: the script answers a second copy of the
// request as it did the first.
func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	h := distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms}
	sent := time.Now()
	reply, err := s.acquire(ctx, r)
	twice := (redisreply.IsBroken(err) || errors.Is(err, errStalled)) && ctx.Err() == nil
	if twice {
		if reply, err = s.acquire(ctx, r); err != nil {
			return h, err // the first copy's outcome stays unknown
		}
	}
	if err != nil {
		return h, certain(err)
	}
	switch v := reply.(type) {
	case string:
		h.Token, err = distlock.ParseToken(v)
		if err != nil {
			return h, fmt.Errorf("acquire script: %w", err)
		}
		lock := s.backend.lockName(r.Key)
		h.State = &grant{lock: lock, rest: " " + v + " " + r.Holder, twice: twice}
		return h, nil
	case int64:
		if twice {
			s.forget(h)
		}
		s.hub.refused(s.channel(r.Key), sent)
		return h, distlock.Held(time.Duration(max(v, 0)) * time.Millisecond)
	}
	return h, fmt.Errorf("acquire script: unexpected reply %T", reply)
}

// acquire sends one copy of the request. A grant to a caller that has left is
// given back.
func (s *session) acquire(ctx context.Context, r distlock.Request) (any, error) {
	reply, err := s.acquireBy(ctx, r, false)
	if isNoScript(err) {
		return s.acquireBy(ctx, r, true)
	}
	return reply, err
}

func (s *session) acquireBy(ctx context.Context, r distlock.Request, whole bool) (any, error) {
	cmd := s.backend.acquireCommand(r, whole)
	err := s.lane.do(ctx, cmd, func() {
		if _, granted := cmd.Val().(string); granted && cmd.Err() == nil {
			s.lane.active.Start(func() { s.giveBack(distlock.Hold{Key: r.Key, Owner: r.Owner}) })
		}
	})
	if err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// Release deletes the lock and wakes who waits, in one round trip.
func (s *session) Release(ctx context.Context, h distlock.Hold) error {
	err := s.release(ctx, h)
	if g, ok := h.State.(*grant); ok && g.twice && (err == nil || errors.Is(err, distlock.ErrLost)) {
		s.forget(h)
	}
	return err
}

func (s *session) release(ctx context.Context, h distlock.Hold) error {
	whole := false
	for {
		cmd, native := s.backend.releaseCommand(h, whole)
		err := s.lane.do(ctx, cmd, nil)
		switch {
		case isNoScript(err) && !whole:
			whole = true
		case native && (isUnknown(err) || isForbidden(err)): // an older server, say, after a failover
			s.backend.server.delete.Store(nil)
			whole = false
		default:
			return deleted(cmd, err)
		}
	}
}

// deleted reads an answer of 1 or 0: done, or there was nothing of ours.
func deleted(cmd rediscall.Command, err error) error {
	if err != nil {
		return certain(gone(err))
	}
	if n, err := cmd.Int64(); err != nil {
		return err
	} else if n == 0 {
		return distlock.ErrLost
	}
	return nil
}

// Watch listens for wake-ups of key.
func (s *session) Watch(key string, wake func()) (stop func()) {
	return s.hub.watch(s.channel(key), wake)
}

func (s *session) channel(key string) string {
	return s.backend.lockName(key) + redisscript.ChannelSuffix
}

// Close waits for what is under way, until ctx ends. The core has released
// every hold.
func (s *session) Close(ctx context.Context) error {
	s.end()
	s.hub.close()
	return promptly(ctx, func() error {
		s.hub.active.Wait()
		s.lane.active.Wait()
		return nil
	})
}
