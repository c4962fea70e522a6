package locktest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

var brokenReleases = []broken{
	{
		name: "releases whoever holds", rule: "5",
		fault: fault{release: func(ctx context.Context, s *session, h distlock.Hold) error {
			if !s.service.memory.Expire(h.Key) {
				return distlock.ErrLost
			}
			return nil
		}},
		fails: []string{"session-release-compares-owner", "loss-unnoticed-then-release", "release-reply-lost"},
		may:   []string{"session-ended-contexts"},
	},
	{
		name: "is content with a lost hold", rule: "5",
		fault: fault{release: func(ctx context.Context, s *session, h distlock.Hold) error {
			if err := s.healthy.Release(ctx, h); !errors.Is(err, distlock.ErrLost) {
				return err
			}
			return nil
		}},
		fails: []string{"session-release-compares-owner", "session-release-of-unknown", "loss-unnoticed-then-release", "session-acquire-is-idempotent"},
	},
	{
		name: "releases only what it has seen granted", rule: "3",
		fault: fault{release: func(ctx context.Context, s *session, h distlock.Hold) error {
			if h.Token == 0 {
				return distlock.ErrLost
			}
			return s.healthy.Release(ctx, h)
		}},
		fails: []string{"session-release-of-unknown", "acquire-reply-lost"},
	},
	{
		name: "is slow, and does not know what it was too slow for", rule: "3",
		fault: fault{
			acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
				h, err := s.healthy.TryAcquire(ctx, r)
				select {
				case <-ctx.Done():
					return distlock.Hold{}, ctx.Err()
				case <-time.After(2 * time.Millisecond):
					return h, err
				}
			},
			release: func(ctx context.Context, s *session, h distlock.Hold) error {
				if h.Token == 0 {
					return distlock.ErrLost
				}
				return s.healthy.Release(ctx, h)
			},
		},
		fails: []string{"acquire-cancelled-at-random", "session-release-of-unknown", "acquire-reply-lost"},
		may:   []string{"wait-ends-by-context"},
	},
	{
		name: "releases nothing", rule: "5", most: true,
		fault: fault{release: func(context.Context, *session, distlock.Hold) error { return nil }},
		fails: []string{"release-frees", "do-releases", "close-releases", "release-with-ended-context"},
	},
	{
		name: "releases later", rule: "5", most: true,
		fault: fault{release: func(ctx context.Context, s *session, h distlock.Hold) error {
			time.AfterFunc(200*time.Millisecond, func() { s.healthy.Release(context.Background(), h) })
			return nil
		}},
		fails: []string{"release-frees"},
	},
}

var brokenManners = []broken{
	{
		name: "wakes nobody", rule: "9",
		fault: fault{watch: func(*session, string, func()) func() { return func() {} }},
		fails: []string{"wait-woken-by-release", "session-watch"},
	},
	{
		name: "lets who has released go first", rule: "9", most: true,
		fault: favourite(),
		fails: []string{"wait-starves-nobody"},
	},
	{
		name: "does not listen to contexts", rule: "3",
		fault: fault{
			acquire: func(_ context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
				return s.healthy.TryAcquire(context.Background(), r)
			},
			release: func(_ context.Context, s *session, h distlock.Hold) error {
				return s.healthy.Release(context.Background(), h)
			},
		},
		fails: []string{"session-ended-contexts"},
	},
	{
		name: "hangs in a dead network", rule: "3",
		fault: fault{deaf: true},
		fails: []string{"session-cut-off", "cut-off-calls-end", "acquire-reply-lost"},
	},
	{
		name: "loses keys with their connection and renews them still", rule: "4",
		fault: fault{
			reset: func(s *service) { s.expireAll() },
			renew: func(ctx context.Context, s *session, holds []distlock.Hold) []error {
				s.healthy.Renew(ctx, holds)
				return make([]error, len(holds))
			},
		},
		fails: []string{"connections-reset", "loss-noticed", "session-renew"},
		may:   []string{"loss-not-recreated", "deadline-before-next-grant", "renewed-after-lost-reply"},
	},
	{
		name: "leaves a trace of each attempt", rule: "8",
		fault: fault{acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			h, err := s.healthy.TryAcquire(ctx, r)
			if errors.Is(err, distlock.ErrHeld) {
				s.service.litter(r.Key)
			}
			return h, err
		}},
		fails: []string{"refused-leaves-nothing", "wait-ends-by-context", "close-ends-waits", "wait-over-outage"},
		may:   []string{"acquire-cancelled-at-random", "acquire-reply-lost"},
	},
	{
		name: "leaves a trace of each grant", rule: "8", most: true,
		fault: fault{acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			h, err := s.healthy.TryAcquire(ctx, r)
			if err == nil {
				s.service.litter(r.Key)
			}
			return h, err
		}},
		fails: []string{"leaves-no-key"},
	},
	{
		name: "leaves a session", rule: "8",
		fault: fault{close: func(ctx context.Context, s *session) error { return s.healthy.Close(ctx) }},
		fails: []string{"leaves-no-session"},
	},
	{
		name: "leaves a goroutine for each session", rule: "8",
		fault: fault{opened: func(*session) { go time.Sleep(10 * time.Second) }},
		fails: []string{"leaves-no-goroutine"},
	},
	{
		name: "accepts any lifetime", rule: "11",
		fault: fault{check: func(_ *backend, t distlock.Terms) (distlock.Terms, error) {
			t.LockDelay = max(t.LockDelay, 0)
			return t, nil
		}},
		fails: []string{"input-terms", "input-options", "errors-are-wrapped"},
	},
	{
		name: "rounds lifetimes down", rule: "11",
		fault: fault{check: func(b *backend, t distlock.Terms) (distlock.Terms, error) {
			t, err := b.service.memory.Check(t)
			t.TTL = t.TTL.Truncate(10 * time.Millisecond)
			return t, err
		}},
		fails: []string{"input-terms"},
	},
	{
		name: "wraps errors itself", rule: "12",
		fault: fault{check: func(b *backend, t distlock.Terms) (distlock.Terms, error) {
			t, err := b.service.memory.Check(t)
			if err != nil {
				err = &distlock.Error{Op: "check", Backend: "memory", Err: err}
			}
			return t, err
		}},
		fails: []string{"errors-are-wrapped"},
	},
	{
		name: "changes its name", rule: "12",
		fault: fault{info: func(i distlock.Info) distlock.Info {
			i.Name = time.Now().String()
			return i
		}},
		fails: []string{"session-kinds", "errors-are-wrapped", "loss-signals", "trace-is-coherent"},
	},
	{
		name: "does not find its service", rule: "11",
		fault: fault{ping: func(context.Context) error { return errReset }},
		fails: []string{"session-kinds"},
	},
}

func (s *service) litter(key string) {
	s.mu.Lock()
	s.junk[key]++
	s.mu.Unlock()
}

// expireAll ends every grant on the service.
func (s *service) expireAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.seen {
		s.memory.Expire(key)
	}
}

// favourite is the fault of a backend that keeps a released key for its last holder
// for a while.
func favourite() fault {
	var mu sync.Mutex
	var last *session
	var until time.Time
	return fault{
		acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			mu.Lock()
			kept := last != nil && last != s && time.Now().Before(until)
			mu.Unlock()
			if kept {
				return distlock.Hold{}, distlock.Held(0)
			}
			return s.healthy.TryAcquire(ctx, r)
		},
		release: func(ctx context.Context, s *session, h distlock.Hold) error {
			mu.Lock()
			defer mu.Unlock()
			last, until = s, time.Now().Add(10*time.Second)
			return s.healthy.Release(ctx, h)
		},
	}
}
