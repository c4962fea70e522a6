package locktest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/memsession"
	"github.com/distlock-go/distlock/locktest"
)

// A keeperFault replaces parts of a healthy session service.
type keeperFault struct {
	keepAlive func(ctx context.Context, s *keeper, at distlock.Instant) (distlock.Instant, error)
	lifetime  func(time.Duration) time.Duration
	acquire   func(ctx context.Context, s *keeper, r distlock.Request) (distlock.Hold, error)
	queue     func(ctx context.Context, s *keeper, r distlock.Request) (distlock.Hold, error)
	release   func(ctx context.Context, s *keeper, h distlock.Hold) error
	close     func(ctx context.Context, s *keeper) error
}

// A keeperBackend is one of memsession's with a fault.
type keeperBackend struct {
	*memsession.Backend
	fault keeperFault
}

// keeper is a session with a queue and without early words of loss.
type keeper struct {
	healthy keeperSession
	fault   keeperFault
}

type keeperSession interface {
	distlock.Session
	distlock.Keeper
	distlock.Queuer
}

// harness describes a service with the fault f.
func (f keeperFault) harness() locktest.Harness {
	h := sessionHarness(memsession.New(), memsession.Options{Queue: true})
	open, link := h.Backend, h.Link
	broken := func(b distlock.Backend) distlock.Backend { return &keeperBackend{b.(*memsession.Backend), f} }
	h.Backend = func(t testing.TB) distlock.Backend { return broken(open(t)) }
	h.Link = func(t testing.TB) (distlock.Backend, locktest.Link) {
		b, l := link(t)
		return broken(b), l
	}
	return h
}

func (b *keeperBackend) Open(ctx context.Context, t distlock.Terms) (distlock.Session, error) {
	s, err := b.Backend.Open(ctx, t)
	if err != nil {
		return nil, err
	}
	return &keeper{s.(keeperSession), b.fault}, nil
}

func (s *keeper) Lifetime() time.Duration {
	if f := s.fault.lifetime; f != nil {
		return f(s.healthy.Lifetime())
	}
	return s.healthy.Lifetime()
}

func (s *keeper) KeepAlive(ctx context.Context, at distlock.Instant) (distlock.Instant, error) {
	if f := s.fault.keepAlive; f != nil {
		return f(ctx, s, at)
	}
	return s.healthy.KeepAlive(ctx, at)
}

func (s *keeper) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	if f := s.fault.acquire; f != nil {
		return f(ctx, s, r)
	}
	return s.healthy.TryAcquire(ctx, r)
}

func (s *keeper) Acquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	if f := s.fault.queue; f != nil {
		return f(ctx, s, r)
	}
	return s.healthy.Acquire(ctx, r)
}

func (s *keeper) Release(ctx context.Context, h distlock.Hold) error {
	if f := s.fault.release; f != nil {
		return f(ctx, s, h)
	}
	return s.healthy.Release(ctx, h)
}

func (s *keeper) Close(ctx context.Context) error {
	if f := s.fault.close; f != nil {
		return f(ctx, s)
	}
	return s.healthy.Close(ctx)
}

// doubtful makes a transport error of the end of a session.
func doubtful(err error) error {
	if errors.Is(err, distlock.ErrLost) {
		return errReset
	}
	return err
}

var brokenKeepers = []broken{
	{
		name: "confirms lifetimes that begin later", rule: "1",
		keeper: &keeperFault{keepAlive: func(ctx context.Context, s *keeper, at distlock.Instant) (distlock.Instant, error) {
			from, err := s.healthy.KeepAlive(ctx, at)
			return from.Add(time.Minute), err
		}},
		fails: []string{"session-keep-alive"},
	},
	{
		name: "answers with short lifetimes", rule: "1",
		keeper: &keeperFault{lifetime: func(d time.Duration) time.Duration { return d * 3 / 4 }},
		fails:  []string{"session-keep-alive"},
		may:    slices.Concat(lastsBeyondTTL, []string{"without-renewal"}),
	},
	{
		name: "keeps nothing alive", rule: "4",
		keeper: &keeperFault{keepAlive: func(_ context.Context, _ *keeper, at distlock.Instant) (distlock.Instant, error) {
			return at, nil
		}},
		fails: []string{"renewed", "session-cut-off"},
		may: slices.Concat(lastsBeyondTTL, []string{
			"deadline-before-next-grant", "lock-delay", "lock-delay-after-crash", "loss-then-release",
			"loss-of-session", "release-reply-lost", "wait-ends-by-context", "without-renewal", "campaign", "break-stale",
			"inspect-held",
		}),
	},
	{
		name: "is in doubt about a session that is gone", rule: "4",
		keeper: &keeperFault{
			keepAlive: func(ctx context.Context, s *keeper, at distlock.Instant) (distlock.Instant, error) {
				from, err := s.healthy.KeepAlive(ctx, at)
				return from, doubtful(err)
			},
			acquire: func(ctx context.Context, s *keeper, r distlock.Request) (distlock.Hold, error) {
				h, err := s.healthy.TryAcquire(ctx, r)
				return h, doubtful(err)
			},
		},
		fails: []string{"loss-of-session", "session-close-frees"},
	},
	{
		name: "leaves its session open", rule: "8",
		keeper: &keeperFault{close: func(context.Context, *keeper) error { return nil }},
		fails:  []string{"session-close-frees"},
		may:    []string{"leaves-no-session"}, // unless others leave more
	},
	{
		name: "cannot close", rule: "8",
		keeper: &keeperFault{close: func(ctx context.Context, s *keeper) error {
			return errors.Join(s.healthy.Close(ctx), errReset)
		}},
		fails: []string{"session-close-frees"},
	},
	{
		name: "leaves its place in the queue", rule: "8",
		keeper: &keeperFault{release: func(ctx context.Context, s *keeper, h distlock.Hold) error {
			if h.Token == 0 {
				return distlock.ErrLost
			}
			return s.healthy.Release(ctx, h)
		}},
		fails: []string{"session-queue", "session-release-of-unknown", "wait-ends-by-context"},
		may: []string{
			"acquire-cancelled-at-random", "acquire-reply-lost", "wait-over-outage", "close-ends-waits", "leaves-no-key", "trace-is-coherent",
			"inspect-waiters",
		},
	},
	{
		name: "jumps the queue", rule: "1",
		keeper: &keeperFault{queue: func(ctx context.Context, s *keeper, r distlock.Request) (distlock.Hold, error) {
			return distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms, Token: 1 << 40}, nil
		}},
		most:  true,
		fails: []string{"session-queue", "excludes-under-contention", "serves-fifty-waiters"},
	},
}
