package memory

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
)

// A session is one client's. Its grants live by themselves.
type session struct{ backend *Backend }

func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (h distlock.Hold, err error) {
	b := s.backend
	err = b.call(ctx, Acquire, r.Key, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		g := b.live(r.Key)
		switch {
		case g == nil:
			b.last++
			g = &grant{owner: r.Owner, token: b.last, holder: r.Holder}
			g.expires = time.Now().Add(r.Terms.Lifetime())
			b.grants[r.Key] = g
		case g.owner != r.Owner:
			return distlock.Held(time.Until(g.expires))
		}
		h = distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms, Token: g.token}
		return nil
	})
	return h, err
}

func (s *session) Renew(ctx context.Context, holds []distlock.Hold) []error {
	results := make([]error, len(holds))
	for i, h := range holds {
		results[i] = s.renew(ctx, h)
	}
	return results
}

func (s *session) renew(ctx context.Context, h distlock.Hold) error {
	b := s.backend
	return b.call(ctx, Renew, h.Key, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		g := b.live(h.Key)
		if g == nil || g.owner != h.Owner {
			return distlock.ErrLost
		}
		g.expires = time.Now().Add(h.Terms.Lifetime())
		return nil
	})
}

func (s *session) Release(ctx context.Context, h distlock.Hold) error {
	b := s.backend
	return b.call(ctx, Release, h.Key, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		g := b.live(h.Key)
		if g == nil || g.owner != h.Owner {
			return distlock.ErrLost
		}
		b.free(h.Key)
		return nil
	})
}

func (s *session) Watch(key string, wake func()) (stop func()) {
	b, w := s.backend, &watcher{wake: wake}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchers[key] == nil {
		b.watchers[key] = make(map[*watcher]struct{})
	}
	b.watchers[key][w] = struct{}{}
	go wake() // something may have happened before we listened
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers[key], w)
		if len(b.watchers[key]) == 0 {
			delete(b.watchers, key)
		}
	}
}

// Close frees nothing: the core has released what was to be released, and what
// is left of a lost lease stays for its lock-delay.
func (s *session) Close(ctx context.Context) error {
	return s.backend.call(ctx, Close, "", func() error { return nil })
}
