package locktest_test

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

var brokenInspectors = []broken{
	{
		name: "takes the last grant for the present one", rule: "6",
		fault: fault{
			inspector: true,
			acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
				h, err := s.healthy.TryAcquire(ctx, r)
				if err == nil {
					s.service.own(r.Key+" last", distlock.LockInfo{Held: true, Token: h.Token, Holder: r.Holder, Left: -1})
				}
				return h, err
			},
			inspect: func(ctx context.Context, s *service, key string) (distlock.LockInfo, error) {
				i, err := s.inspect(ctx, key)
				if last, held := s.owner(key + " last").(distlock.LockInfo); held && !i.Held {
					i = last
				}
				return i, err
			},
		},
		fails: []string{"inspect-free", "sequencer-tells-the-present-grant", "sequencer-takes-no-part", "sequencer-until-min-hold"},
		may:   []string{"break-frees", "break-lock-delay", "inspect-foreign"},
	},
	{
		name: "hides a grant that was released with a min-hold", rule: "6",
		fault: fault{
			inspector: true,
			acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
				h, err := s.healthy.TryAcquire(ctx, r)
				if err == nil {
					s.service.own(r.Key+" terms", r.Terms)
					s.service.own(r.Key+" released", false)
				}
				return h, err
			},
			renew: func(ctx context.Context, s *session, holds []distlock.Hold) []error {
				for _, h := range holds { // other terms are the rest of the time
					s.service.own(h.Key+" released", h.Terms != s.service.owner(h.Key+" terms"))
				}
				return s.healthy.Renew(ctx, holds)
			},
			inspect: func(ctx context.Context, s *service, key string) (distlock.LockInfo, error) {
				i, err := s.inspect(ctx, key)
				if s.owner(key+" released") == true {
					i.Held, i.Token = false, 0
				}
				return i, err
			},
		},
		fails: []string{"sequencer-until-min-hold"},
	},
	{
		name: "inspects a key by taking it", rule: "6",
		fault: fault{inspector: true, inspect: func(ctx context.Context, s *service, key string) (distlock.LockInfo, error) {
			i, err := s.inspect(ctx, key)
			if !i.Held && err == nil {
				terms := distlock.Terms{TTL: time.Minute}
				probe, _ := s.memory.Open(ctx, terms)
				_, err = probe.TryAcquire(ctx, distlock.Request{Key: key, Owner: distlock.NewOwner(), Terms: terms})
			}
			return i, err
		}},
		fails: []string{"inspect-takes-no-part", "sequencer-takes-no-part"},
		may:   []string{"inspect-free", "sequencer-tells-the-present-grant", "break-frees", "break-lock-delay"},
	},
	{
		name: "tells another token", rule: "6",
		fault: shows(func(_ *service, _ string, i distlock.LockInfo) distlock.LockInfo {
			if i.Held {
				i.Token++
			}
			return i
		}),
		fails: []string{"inspect-held", "sequencer-tells-the-present-grant", "sequencer-takes-no-part", "sequencer-until-min-hold"},
		may:   []string{"inspect-takes-no-part", "inspect-waiters"},
	},
	{
		name: "keeps the holder's text to itself", rule: "6",
		fault: shows(func(_ *service, _ string, i distlock.LockInfo) distlock.LockInfo {
			i.Holder = ""
			return i
		}),
		fails: []string{"inspect-held"},
	},
	{
		name: "tells the time left in another unit", rule: "6",
		fault: shows(func(_ *service, _ string, i distlock.LockInfo) distlock.LockInfo {
			i.Left *= 1000
			return i
		}),
		fails: []string{"inspect-held"},
		may:   []string{"break-lock-delay", "inspect-takes-no-part"},
	},
	{
		name: "counts no waiters", rule: "6",
		fault: shows(func(_ *service, _ string, i distlock.LockInfo) distlock.LockInfo {
			i.Waiters = 0
			return i
		}),
		fails: []string{"inspect-waiters"},
	},
	{
		name: "looks over foreign data", rule: "6",
		fault: fault{inspector: true, inspect: func(ctx context.Context, s *service, key string) (distlock.LockInfo, error) {
			return s.memory.Inspect(ctx, key)
		}},
		fails: []string{"inspect-foreign"},
	},
	{
		name: "steps on foreign data", rule: "6",
		fault: breaksBy(func(ctx context.Context, s *service, key string, t distlock.Token, delay time.Duration) error {
			if s.isForeign(key) {
				s.own(key+" foreign", nil)
				return distlock.ErrForeign
			}
			return s.breaks(ctx, key, t, delay)
		}),
		fails: []string{"inspect-foreign"},
	},
	{
		name: "goes on after the end of ctx", rule: "6",
		fault: breaksBy(func(_ context.Context, s *service, key string, t distlock.Token, delay time.Duration) error {
			return s.breaks(context.Background(), key, t, delay)
		}),
		fails: []string{"inspect-takes-no-part"},
	},
	{
		name: "breaks nothing and says it did", rule: "6",
		fault: breaksBy(func(ctx context.Context, s *service, key string, t distlock.Token, delay time.Duration) error {
			if i, err := s.inspect(ctx, key); err != nil || i.Token != t {
				return errors.Join(err, distlock.ErrStale)
			}
			return nil
		}),
		fails: []string{"break-frees", "break-ends-the-lease", "break-hands-over", "break-lock-delay"},
		may:   []string{"inspect-foreign", "inspect-takes-no-part"},
	},
	{
		name: "breaks whatever has the key", rule: "6",
		fault: breaksBy(func(ctx context.Context, s *service, key string, t distlock.Token, delay time.Duration) error {
			i, err := s.inspect(ctx, key)
			if err == nil && i.Held && i.Token != t {
				t = i.Token
			}
			return errors.Join(err, s.breaks(ctx, key, t, delay))
		}),
		fails: []string{"break-stale"},
		may:   []string{"break-lock-delay"},
	},
	{
		name: "breaks what has an older token", rule: "6",
		fault: breaksBy(func(ctx context.Context, s *service, key string, t distlock.Token, delay time.Duration) error {
			i, err := s.inspect(ctx, key)
			if err == nil && i.Held && i.Token < t {
				t = i.Token
			}
			return errors.Join(err, s.breaks(ctx, key, t, delay))
		}),
		fails: []string{"break-stale"},
	},
	{
		name: "does not tell the holder", rule: "6", most: true,
		fault: fault{
			inspector: true,
			renew: func(ctx context.Context, s *session, holds []distlock.Hold) []error {
				_ = s.healthy.Renew(ctx, holds)
				return same(nil, len(holds))
			},
		},
		fails: []string{"break-ends-the-lease"},
	},
	{
		name: "takes a broken lock for one that was released", rule: "6",
		fault: fault{inspector: true, release: func(ctx context.Context, s *session, h distlock.Hold) error {
			if err := s.healthy.Release(ctx, h); err != nil && s.service.owner(h.Key+" broken") != h.Token {
				return err
			}
			return nil
		}, breaks: func(ctx context.Context, s *service, key string, t distlock.Token, delay time.Duration) error {
			err := s.breaks(ctx, key, t, delay)
			if err == nil {
				s.own(key+" broken", t)
			}
			return err
		}},
		fails: []string{"break-ends-the-lease", "break-lock-delay"},
	},
	{
		name: "wakes nobody when it breaks", rule: "6",
		fault: fault{inspector: true, breaks: func(ctx context.Context, s *service, key string, t distlock.Token, delay time.Duration) error {
			err := s.breaks(ctx, key, t, delay)
			if err == nil && delay == 0 {
				s.own(key+" quiet", time.Now())
			}
			return err
		}, watch: func(s *session, key string, wake func()) func() {
			return s.healthy.Watch(key, func() {
				<-time.After(5 * time.Millisecond) // until the break is known
				if at, ok := s.service.owner(key + " quiet").(time.Time); !ok || time.Since(at) > time.Second {
					wake()
				}
			})
		}},
		fails: []string{"break-hands-over"},
	},
	{
		name: "forgets the lock-delay of a break", rule: "10",
		fault: breaksBy(func(ctx context.Context, s *service, key string, t distlock.Token, _ time.Duration) error {
			return s.breaks(ctx, key, t, 0)
		}),
		fails: []string{"break-lock-delay"},
	},
	{
		name: "has the old holder end the lock-delay of a break", rule: "10",
		fault: fault{inspector: true, release: func(ctx context.Context, s *session, h distlock.Hold) error {
			err := s.healthy.Release(ctx, h)
			if errors.Is(err, distlock.ErrLost) && s.service.owner(h.Key+" broken") == h.Token {
				s.service.memory.Expire(h.Key)
			}
			return err
		}, breaks: func(ctx context.Context, s *service, key string, t distlock.Token, delay time.Duration) error {
			err := s.breaks(ctx, key, t, delay)
			if err == nil && delay > 0 {
				s.own(key+" broken", t)
			}
			return err
		}},
		fails: []string{"break-lock-delay"},
	},
	{
		name: "keeps a broken key for ever", rule: "10",
		fault: breaksBy(func(ctx context.Context, s *service, key string, t distlock.Token, delay time.Duration) error {
			if delay > 0 {
				delay = memory.MaxLockDelay
			}
			return s.breaks(ctx, key, t, delay)
		}),
		fails: []string{"break-lock-delay"},
	},
	{
		name: "shows a broken grant as held during its lock-delay", rule: "10",
		fault: fault{inspector: true, inspect: func(ctx context.Context, s *service, key string) (distlock.LockInfo, error) {
			i, err := s.inspect(ctx, key)
			if t, broken := s.owner(key + " broken").(distlock.Token); broken && !i.Held && i.Left > 0 {
				i.Held, i.Token = true, t
			}
			return i, err
		}, breaks: func(ctx context.Context, s *service, key string, t distlock.Token, delay time.Duration) error {
			err := s.breaks(ctx, key, t, delay)
			if err == nil {
				s.own(key+" broken", t)
			}
			return err
		}},
		fails: []string{"break-lock-delay"},
	},
}

// shows is an Inspector that makes f of what it finds.
func shows(f func(s *service, key string, i distlock.LockInfo) distlock.LockInfo) fault {
	return fault{inspector: true, inspect: func(ctx context.Context, s *service, key string) (distlock.LockInfo, error) {
		i, err := s.inspect(ctx, key)
		if err != nil {
			return i, err
		}
		return f(s, key, i), nil
	}}
}

// breaksBy is an Inspector that breaks by f.
func breaksBy(f func(context.Context, *service, string, distlock.Token, time.Duration) error) fault {
	return fault{inspector: true, breaks: f}
}
