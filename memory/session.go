package memory

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// A session is one client's. It remembers its owners so that Close can free
// what is left of them.
type session struct {
	backend *Backend
	mu      sync.Mutex // guards owned
	owned   map[distlock.Owner]string
}

func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (h distlock.Hold, err error) {
	b := s.backend
	err = b.call(ctx, Acquire, r.Key, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		g := b.live(r.Key)
		switch {
		case g == nil:
			b.last++
			g = &grant{owner: r.Owner, token: b.last}
			g.expires = time.Now().Add(r.Terms.Lifetime())
			b.grants[r.Key] = g
		case g.owner != r.Owner:
			return distlock.Held(time.Until(g.expires))
		}
		s.own(r.Owner, r.Key)
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
			s.disown(h.Owner)
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
		s.disown(h.Owner)
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

func (s *session) Close(ctx context.Context) error {
	b := s.backend
	return b.call(ctx, Close, "", func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		for owner, key := range s.owned {
			if g := b.live(key); g != nil && g.owner == owner {
				b.free(key)
			}
		}
		return nil
	})
}

func (s *session) own(o distlock.Owner, key string) {
	s.mu.Lock()
	s.owned[o] = key
	s.mu.Unlock()
}

func (s *session) disown(o distlock.Owner) {
	s.mu.Lock()
	delete(s.owned, o)
	s.mu.Unlock()
}
