// Package memory is the lock service of one process: the reference backend of
// distlock, for tests and for programs that run alone.
//
// Clients made from one Backend exclude each other. Tokens are
// distlock.FencingDurable for the life of the process. TTLs go from 10 ms to
// 24 h, lock-delays up to 1 h. Hooks stand in for the faults of a network:
// see Backend.SetHooks and Backend.Expire. Inspect asks the service itself, so the
// answer is never old, and knows who waits.
package memory

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// The bounds of what a grant can live by.
const (
	MinTTL       = 10 * time.Millisecond
	MaxTTL       = 24 * time.Hour
	MaxLockDelay = time.Hour
)

// A Backend is a lock service in memory. Use New.
type Backend struct {
	mu       sync.Mutex // guards all below
	grants   map[string]*grant
	last     distlock.Token // one counter serves all keys
	watchers map[string]map[*watcher]struct{}
	hooks    Hooks
}

// A grant keeps its key from others until it expires. One with token 0 is nobody's:
// it is what a lock-delay is kept by after Break.
type grant struct {
	owner   distlock.Owner
	token   distlock.Token
	holder  string
	expires time.Time
}

type watcher struct{ wake func() }

// New returns an empty lock service.
func New() *Backend {
	return &Backend{
		grants:   make(map[string]*grant),
		watchers: make(map[string]map[*watcher]struct{}),
	}
}

// Info describes the backend.
func (b *Backend) Info() distlock.Info {
	return distlock.Info{Name: "memory", Fencing: distlock.FencingDurable}
}

// Check checks the bounds.
func (b *Backend) Check(t distlock.Terms) (distlock.Terms, error) {
	return t.CheckTTL(MinTTL, MaxTTL, MaxLockDelay)
}

// Ping does nothing but what the hooks do.
func (b *Backend) Ping(ctx context.Context) error {
	return b.call(ctx, Ping, "", func() error { return nil })
}

// Open returns a session. It holds nothing by itself.
func (b *Backend) Open(ctx context.Context, _ distlock.Terms) (distlock.Session, error) {
	if err := b.call(ctx, Open, "", func() error { return nil }); err != nil {
		return nil, err
	}
	return &session{backend: b}, nil
}

// Expire ends the grant of key on the service's side, as if its lifetime were
// over. The holder is not told. It reports whether there was one.
func (b *Backend) Expire(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.live(key)
	b.free(key)
	return g != nil
}

// Len returns the number of keys that are held, or kept for a lock-delay.
func (b *Backend) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for key := range b.grants {
		if b.live(key) != nil {
			n++
		}
	}
	return n
}

// live returns the grant of key, and forgets one whose lifetime is over. b.mu
// is held.
func (b *Backend) live(key string) *grant {
	g := b.grants[key]
	if g != nil && !time.Now().Before(g.expires) {
		delete(b.grants, key)
		return nil
	}
	return g
}

// free deletes the grant of key and wakes who waits for it. b.mu is held.
func (b *Backend) free(key string) {
	delete(b.grants, key)
	for w := range b.watchers[key] {
		go w.wake() // ends at once: wake never blocks; not under our lock
	}
}
