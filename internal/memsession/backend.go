package memsession

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// The bounds of what a session can live by.
const (
	MinTTL       = 10 * time.Millisecond
	MaxTTL       = 24 * time.Hour
	MaxLockDelay = time.Hour
)

// Options choose what the sessions of a Backend can do besides what they must.
// The zero value is a service that has to be polled.
type Options struct {
	Queue  bool // sessions are Queuers
	Wake   bool // sessions are Wakers; not together with Queue
	Notify bool // sessions are LossNotifiers
}

// A Backend is one connection to a Service. Use Service.Backend.
type Backend struct {
	service *Service
	opts    Options
	mu      sync.Mutex // guards hooks
	hooks   Hooks
}

var _ distlock.Backend = (*Backend)(nil)

// Backend returns a new connection. Nil options are the zero Options.
func (s *Service) Backend(o *Options) *Backend {
	b := &Backend{service: s}
	if o != nil {
		b.opts = *o
	}
	return b
}

// Info describes the backend.
func (b *Backend) Info() distlock.Info {
	return distlock.Info{Name: "memsession", Fencing: distlock.FencingDurable, SessionPerTerms: true}
}

// Check checks the bounds.
func (b *Backend) Check(t distlock.Terms) (distlock.Terms, error) {
	return t.CheckTTL(MinTTL, MaxTTL, MaxLockDelay)
}

// Ping does nothing but what the hooks do.
func (b *Backend) Ping(ctx context.Context) error {
	return b.call(ctx, Ping, "", func() error { return nil })
}

// Open opens a session on the service.
func (b *Backend) Open(ctx context.Context, t distlock.Terms) (distlock.Session, error) {
	s := &session{backend: b}
	err := b.call(ctx, Open, "", func() error {
		s.remote = b.service.open(b, t.Lifetime())
		return nil
	})
	if err != nil {
		return nil, err // what was opened runs out by itself
	}
	q, w, n := queuer{s}, waker{s}, notifier{s}
	switch b.opts {
	case Options{Queue: true, Notify: true}:
		return struct {
			*session
			queuer
			notifier
		}{s, q, n}, nil
	case Options{Queue: true}:
		return struct {
			*session
			queuer
		}{s, q}, nil
	case Options{Wake: true, Notify: true}:
		return struct {
			*session
			waker
			notifier
		}{s, w, n}, nil
	case Options{Wake: true}:
		return struct {
			*session
			waker
		}{s, w}, nil
	case Options{Notify: true}:
		return struct {
			*session
			notifier
		}{s, n}, nil
	}
	return s, nil
}

// KillSessions ends the sessions opened through b on the service's side, and
// returns how many there were. A LossNotifier is told.
func (b *Backend) KillSessions() int {
	s := b.service
	s.mu.Lock()
	var mine []*remote
	for r := range s.remotes {
		if r.backend == b {
			mine = append(mine, r)
		}
	}
	s.mu.Unlock()
	for _, r := range mine {
		s.end(r, true)
	}
	return len(mine)
}
