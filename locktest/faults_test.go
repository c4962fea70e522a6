package locktest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// brokenBackends is the table of faults.
func brokenBackends() []broken {
	return slices.Concat(brokenGrants, brokenTokens, brokenInspectors, brokenLifetimes, brokenReleases, brokenManners, brokenKeepers)
}

var brokenGrants = []broken{
	{
		name: "grants a held key", rule: "1 and 6", most: true,
		fault: fault{acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			h, err := s.healthy.TryAcquire(ctx, r)
			if errors.Is(err, distlock.ErrHeld) {
				return granted(s, r), nil
			}
			return s.grown(h), err
		}},
		fails: []string{"excludes-clients", "campaign"},
	},
	{
		name: "grants again within one Backend value", rule: "3",
		fault: fault{acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			h, err := s.healthy.TryAcquire(ctx, r)
			if errors.Is(err, distlock.ErrHeld) && s.service.owner(r.Key) == s.backend {
				return granted(s, r), nil
			}
			if err == nil {
				s.service.own(r.Key, s.backend)
			}
			return s.grown(h), err
		}},
		fails: []string{"excludes-one-backend", "excludes-one-client", "excludes-at-once"},
		may:   []string{"loss-then-acquire", "session-acquire-is-idempotent", "token-not-raised-by-refusals"},
	},
	{
		name: "frees the key for an attempt that was overtaken", rule: "3",
		fault: overtaken(),
		fails: []string{"excludes-at-once"},
	},
	{
		name: "folds keys", rule: "11",
		fault: renamed(strings.ToLower),
		fails: []string{"keys-are-distinct"},
	},
	{
		name: "trims keys", rule: "11",
		fault: renamed(strings.TrimSpace),
		fails: []string{"keys-are-distinct"},
	},
	{
		name: "cuts keys short", rule: "11",
		fault: renamed(func(key string) string { return key[:min(len(key), 255)] }),
		fails: []string{"keys-are-distinct"},
	},
	{
		name: "refuses the owner's own grant", rule: "3",
		fault: fault{acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			probe := r
			probe.Owner = distlock.NewOwner()
			h, err := s.healthy.TryAcquire(ctx, probe)
			if err != nil {
				return h, err
			}
			if err := s.healthy.Release(ctx, h); err != nil {
				return h, err
			}
			return s.healthy.TryAcquire(ctx, r)
		}},
		fails: []string{"session-acquire-is-idempotent", "token-not-raised-by-refusals"},
	},
	{
		name: "answers with another owner's hold", rule: "3",
		fault: fault{acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			h, err := s.healthy.TryAcquire(ctx, r)
			h.Owner = distlock.NewOwner()
			return h, err
		}},
		fails: []string{"session-acquire-is-idempotent", "session-release-compares-owner"},
		may: []string{
			"session-cut-off", "session-ended-contexts", "session-release-of-unknown", "session-renew", "session-watch",
			"token-not-raised-by-refusals",
		},
	},
	{
		name: "refuses with an error of its own", rule: "3", most: true,
		fault: fault{acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			h, err := s.healthy.TryAcquire(ctx, r)
			if errors.Is(err, distlock.ErrHeld) {
				err = distlock.Refused(errors.New("taken"))
			}
			return h, err
		}},
		fails: []string{"refused-leaves-nothing", "errors-are-wrapped"},
	},
}

// overtaken is the fault of a backend that takes the lock of another attempt of its
// session, which was answered meanwhile, for what nobody knows any more.
func overtaken() fault {
	type place struct {
		session *session
		key     string
	}
	var mu sync.Mutex
	under := make(map[place]int)
	enter := func(p place, n int) int {
		mu.Lock()
		defer mu.Unlock()
		under[p] += n
		return under[p]
	}
	return fault{acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
		p := place{s, r.Key}
		enter(p, 1)
		<-time.After(time.Millisecond) // the way to the server
		overlaps := enter(p, 0) > 1
		h, err := s.healthy.TryAcquire(ctx, r)
		if errors.Is(err, distlock.ErrHeld) && overlaps {
			s.service.memory.Expire(r.Key)
		}
		enter(p, -1)
		return h, err
	}}
}

// granted is a hold that nobody has granted.
func granted(s *session, r distlock.Request) distlock.Hold {
	return s.grown(distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms})
}

// grown gives h the largest token so far.
func (s *session) grown(h distlock.Hold) distlock.Hold {
	s.service.mu.Lock()
	defer s.service.mu.Unlock()
	s.service.tokens++
	h.Token = s.service.tokens
	return h
}

func (s *service) owner(key string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owners[key]
}

func (s *service) own(key string, by any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owners[key] = by
}

// renamed is the fault of a backend that confuses keys.
func renamed(f func(string) string) fault {
	return fault{
		acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			key := r.Key
			r.Key = f(key)
			h, err := s.healthy.TryAcquire(ctx, r)
			h.Key = key
			return h, err
		},
		renew: func(ctx context.Context, s *session, holds []distlock.Hold) []error {
			holds = slices.Clone(holds)
			for i := range holds {
				holds[i].Key = f(holds[i].Key)
			}
			return s.healthy.Renew(ctx, holds)
		},
		release: func(ctx context.Context, s *session, h distlock.Hold) error {
			h.Key = f(h.Key)
			return s.healthy.Release(ctx, h)
		},
		watch: func(s *session, key string, wake func()) func() { return s.healthy.Watch(f(key), wake) },
	}
}

var brokenTokens = []broken{
	{
		name: "restarts tokens at each grant", rule: "6",
		fault: tokens(func(*service, distlock.Token) distlock.Token { return 1 }),
		fails: []string{"token-grows-over-releases", "token-grows-over-deletion", "wait-for-crashed-holder", "token-is-frozen"},
		may:   slices.Concat(comparesTokens, []string{"service-restarted", "token-grows-over-counter-deletion", "token-not-raised-by-refusals"}),
	},
	{
		name: "restarts tokens with a deleted key", rule: "6",
		fault: withBase(fault{delete: (*service).restartTokens}),
		fails: []string{"token-grows-over-deletion"},
		may:   slices.Concat(comparesTokens, []string{"token-grows-over-counter-deletion", "token-is-frozen"}),
	},
	{
		name: "restarts tokens with a deleted counter", rule: "6",
		fault: withBase(fault{deleteCounter: (*service).restartTokens}),
		fails: []string{"token-grows-over-counter-deletion"},
		may:   slices.Concat(comparesTokens, []string{"token-grows-over-deletion", "token-is-frozen"}),
	},
	{
		name: "restarts tokens with the service", rule: "6",
		fault: withBase(fault{restart: func(s *service) { s.restartTokens("") }}),
		fails: []string{"service-restarted"},
	},
	{
		name: "reads the token of a grant from the counter", rule: "6",
		fault: fault{acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			h, err := s.healthy.TryAcquire(ctx, r)
			h = s.grown(h) // of each attempt, refused ones too
			if err != nil {
				h = distlock.Hold{}
			}
			return h, err
		}},
		fails: []string{"token-not-raised-by-refusals", "session-acquire-is-idempotent"},
	},
	{
		name: "hands tokens to the refused", rule: "6",
		fault: fault{acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			h, err := s.healthy.TryAcquire(ctx, r)
			if err != nil {
				h.Token = 1 << 40
			}
			return h, err
		}},
		fails: []string{"token-not-raised-by-refusals"},
	},
	{
		name: "promises fencing that is not there", rule: "6", most: true,
		fault: tokens(func(*service, distlock.Token) distlock.Token { return 0 }),
		fails: []string{"token-level"},
	},
	{
		name: "has a fencing level of its own", rule: "6",
		fault: fault{info: func(i distlock.Info) distlock.Info {
			i.Fencing = distlock.FencingDurable + 1
			return i
		}},
		fails: []string{"token-level"},
	},
}

// comparesTokens are rows that are about something else and compare tokens of
// grants after a loss on their way.
var comparesTokens = []string{
	"deadline-before-next-grant", "lock-delay", "lock-delay-after-crash", "loss-not-recreated", "loss-then-acquire",
	"token-grows-over-releases", "wait-for-crashed-holder", "wait-over-outage", "without-renewal", "connections-reset",
}

// tokens is a backend whose tokens are f of the healthy ones.
func tokens(f func(*service, distlock.Token) distlock.Token) fault {
	return fault{acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
		h, err := s.healthy.TryAcquire(ctx, r)
		if err == nil {
			h.Token = f(s.service, h.Token)
		}
		return h, err
	}}
}

// withBase is f whose tokens can be made to restart at 1, once.
func withBase(f fault) fault {
	f.acquire = tokens(func(s *service, t distlock.Token) distlock.Token {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tokens = max(s.tokens, t)
		if s.base > 0 {
			return max(t-s.base, 1)
		}
		return t
	}).acquire
	return f
}

// restartTokens lets tokens begin anew.
func (s *service) restartTokens(string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base = s.tokens
}
