package memsession

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
)

// A session is the client's side: what every session can do.
type session struct {
	backend *Backend
	remote  *remote
}

// The optional parts, to be put together with a session.
type (
	queuer   struct{ of *session }
	waker    struct{ of *session }
	notifier struct{ of *session }
)

func (s *session) Lifetime() time.Duration { return s.remote.lifetime }

func (s *session) KeepAlive(ctx context.Context, at distlock.Instant) (distlock.Instant, error) {
	err := s.backend.call(ctx, KeepAlive, "", func() error {
		return s.backend.service.keepAlive(s.remote)
	})
	return at, err
}

func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (h distlock.Hold, err error) {
	err = s.backend.call(ctx, Acquire, r.Key, func() error {
		n, err := s.backend.service.add(s.remote, r, false)
		if err == nil {
			h = hold(r, n)
		}
		return err
	})
	return h, err
}

func hold(r distlock.Request, n *node) distlock.Hold {
	return distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms, Token: n.token}
}

func (s *session) Release(ctx context.Context, h distlock.Hold) error {
	return s.backend.call(ctx, Release, h.Key, func() error {
		return s.backend.service.release(h.Key, h.Owner)
	})
}

func (s *session) Close(ctx context.Context) error {
	return s.backend.call(ctx, Close, "", func() error {
		s.backend.service.end(s.remote, false)
		return nil
	})
}

// Acquire leaves its node behind when ctx ends, for the core to release.
func (q queuer) Acquire(ctx context.Context, r distlock.Request) (h distlock.Hold, err error) {
	b := q.of.backend
	err = b.call(ctx, Enqueue, r.Key, func() error {
		n, err := b.service.add(q.of.remote, r, true)
		if err != nil {
			return err
		}
		select {
		case <-n.moved:
		case <-ctx.Done():
			return ctx.Err()
		}
		b.service.mu.Lock()
		defer b.service.mu.Unlock()
		if n.gone {
			return errExpelled
		}
		h = hold(r, n)
		return nil
	})
	return h, err
}

func (w waker) Watch(key string, wake func()) (stop func()) {
	b := w.of.backend
	s := b.service
	one := &watcher{key: key, wake: func() { b.deliver(Wake, key, wake) }}
	s.mu.Lock()
	s.watchers[one] = struct{}{}
	s.mu.Unlock()
	go wake() // something may have happened before we listened
	return func() {
		s.mu.Lock()
		delete(s.watchers, one)
		s.mu.Unlock()
	}
}

func (n notifier) NotifyLoss(lost func(owner distlock.Owner, cause error)) {
	s := n.of.backend.service
	s.mu.Lock()
	n.of.remote.lost = lost
	s.mu.Unlock()
}
