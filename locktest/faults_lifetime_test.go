package locktest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

var brokenLifetimes = []broken{
	{
		name: "frees keys early", rule: "1",
		fault: lifetimes(func(t distlock.Terms) distlock.Terms { t.TTL = t.TTL * 2 / 3; return t }),
		fails: []string{"deadline-before-next-grant", "without-renewal", "lock-delay-after-crash"},
		may:   []string{"max-hold", "lock-delay", "campaign", "min-hold"},
	},
	{
		name: "keeps keys of the dead", rule: "8",
		fault: lifetimes(func(t distlock.Terms) distlock.Terms { t.TTL *= 10; return t }),
		fails: []string{"wait-for-crashed-holder"},
		may:   []string{"deadline-before-next-grant", "lock-delay-after-crash", "min-hold"},
	},
	{
		name: "has no lock-delay", rule: "10",
		fault: lifetimes(func(t distlock.Terms) distlock.Terms { t.LockDelay = 0; return t }),
		fails: []string{"lock-delay", "lock-delay-after-crash"},
	},
	{
		name: "delays after a release too", rule: "10",
		fault: fault{release: func(ctx context.Context, s *session, h distlock.Hold) error {
			if h.Terms.LockDelay == 0 {
				return s.healthy.Release(ctx, h)
			}
			time.AfterFunc(h.Terms.LockDelay, func() { s.healthy.Release(context.Background(), h) })
			return nil
		}},
		fails: []string{"lock-delay"},
	},
	{
		name: "renews nothing", rule: "4",
		fault: fault{renew: func(_ context.Context, _ *session, holds []distlock.Hold) []error {
			return make([]error, len(holds))
		}},
		fails: []string{"renewed", "loss-noticed", "session-renew"},
		may:   slices.Concat(lastsBeyondTTL, []string{"deadline-before-next-grant", "loss-not-recreated", "min-hold"}),
	},
	{
		name: "cannot renew", rule: "4",
		fault: fault{renew: func(_ context.Context, _ *session, holds []distlock.Hold) []error {
			return same(errReset, len(holds))
		}},
		fails: []string{
			"renewed", "outlives-context-of-acquire", "max-hold", "own-terms", "session-renew", "trace-is-coherent",
			"renewed-after-lost-reply", "loss-then-acquire",
		},
		may: slices.Concat(lastsBeyondTTL, []string{"loss-noticed", "min-hold"}),
	},
	{
		name: "renews for as long as it granted", rule: "4",
		fault: grantedFor(),
		fails: []string{"min-hold"},
	},
	{
		name: "answers one renewal of a batch", rule: "4",
		fault: fault{renew: func(ctx context.Context, s *session, holds []distlock.Hold) []error {
			return s.healthy.Renew(ctx, holds)[:min(len(holds), 1)]
		}},
		fails: []string{"session-renew"},
	},
	{
		name: "brings back what is gone", rule: "4",
		fault: fault{renew: func(ctx context.Context, s *session, holds []distlock.Hold) []error {
			errs := s.healthy.Renew(ctx, holds)
			for i, h := range holds {
				if errors.Is(errs[i], distlock.ErrLost) {
					_, errs[i] = s.healthy.TryAcquire(ctx, distlock.Request{Key: h.Key, Owner: h.Owner, Terms: h.Terms})
				}
			}
			return errs
		}},
		fails: []string{"loss-not-recreated", "loss-noticed", "session-renew"},
	},
	{
		name: "is in doubt about what is gone", rule: "4",
		fault: fault{renew: func(ctx context.Context, s *session, holds []distlock.Hold) []error {
			errs := s.healthy.Renew(ctx, holds)
			for i := range errs {
				if errs[i] != nil {
					errs[i] = errors.New("no such key")
				}
			}
			return errs
		}},
		fails: []string{"loss-noticed", "session-renew"},
	},
}

// lastsBeyondTTL are rows that hold a lease for longer than its TTL.
var lastsBeyondTTL = []string{
	"connections-reset", "deadline-within-ttl", "loss-then-acquire", "max-hold", "outlives-context-of-acquire", "own-terms",
	"release-stops-renewal", "renewed-after-lost-reply", "service-restarted", "token-is-frozen", "trace-is-coherent",
}

// grantedFor is a backend that renews by the terms of the grant, whatever those
// of the hold say.
func grantedFor() fault {
	var granted sync.Map // Owner to Terms
	return fault{
		acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			granted.Store(r.Owner, r.Terms)
			return s.healthy.TryAcquire(ctx, r)
		},
		renew: func(ctx context.Context, s *session, holds []distlock.Hold) []error {
			holds = slices.Clone(holds)
			for i, h := range holds {
				if t, ok := granted.Load(h.Owner); ok {
					holds[i].Terms = t.(distlock.Terms)
				}
			}
			return s.healthy.Renew(ctx, holds)
		},
	}
}

// lifetimes is a backend that keeps grants for other terms than it was asked.
func lifetimes(f func(distlock.Terms) distlock.Terms) fault {
	return fault{
		acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
			asked := r.Terms
			r.Terms = f(asked)
			h, err := s.healthy.TryAcquire(ctx, r)
			h.Terms = asked
			return h, err
		},
		renew: func(ctx context.Context, s *session, holds []distlock.Hold) []error {
			holds = slices.Clone(holds)
			for i := range holds {
				holds[i].Terms = f(holds[i].Terms)
			}
			return s.healthy.Renew(ctx, holds)
		},
	}
}
