package locktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/memsession"
	"github.com/distlock-go/distlock/locktest"
	"github.com/distlock-go/distlock/memory"
)

// shortest leaves room for the pauses of a busy machine under -race.
const shortest = 500 * time.Millisecond

func TestMemory(t *testing.T) {
	t.Parallel()
	b := memory.New()
	locktest.Run(t, locktest.Harness{
		Backend:   func(testing.TB) distlock.Backend { return b },
		TTL:       shortest,
		LockDelay: shortest,
		Delete:    func(_ context.Context, key string) error { b.Expire(key); return nil },
		Without: map[string]string{
			"DeleteCounter": "one counter serves all keys and cannot be deleted",
			"Foreign":       "nobody else writes there",
			"Link":          "hooks are the service's, not a connection's: see TestMemoryBehindLink",
			"Residue":       "a refused or expired owner leaves no trace in a map of holders",
			"Sessions":      "sessions are not kept on the service",
			"Restart":       "the service lives in the process",
		},
	})
}

func TestMemoryBehindLink(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newService(fault{inspector: true}).harness(shortest))
}

func TestMemoryWithoutFencing(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newService(unfenced).harness(shortest))
}

// unfenced is a backend without tokens, which is no fault.
var unfenced = fault{
	inspector: true,
	inspect: func(ctx context.Context, s *service, key string) (distlock.LockInfo, error) {
		i, err := s.inspect(ctx, key)
		i.Token = 0
		return i, err
	},
	info: func(i distlock.Info) distlock.Info {
		i.Fencing = distlock.FencingNone
		return i
	},
	acquire: func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error) {
		h, err := s.healthy.TryAcquire(ctx, r)
		h.Token = 0
		return h, err
	},
}

func TestSessions(t *testing.T) {
	for name, opts := range map[string]memsession.Options{
		"queue-notify": {Queue: true, Notify: true},
		"queue":        {Queue: true},
		"wake-notify":  {Wake: true, Notify: true},
		"wake":         {Wake: true},
		"poll":         {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			locktest.Run(t, sessionHarness(memsession.New(), opts))
		})
	}
}

func sessionHarness(s *memsession.Service, o memsession.Options) locktest.Harness {
	h := locktest.Harness{
		Backend:   func(testing.TB) distlock.Backend { return s.Backend(&o) },
		TTL:       shortest,
		LockDelay: shortest,
		Delete:    func(_ context.Context, key string) error { s.Delete(key); return nil },
		Expel:     func(_ context.Context, key string) error { s.Expel(key); return nil },
		Link: func(testing.TB) (distlock.Backend, locktest.Link) {
			b, w := s.Backend(&o), newWire()
			b.SetHooks(memsession.Hooks{
				Before: func(ctx context.Context, _ memsession.Op, _ string) error { return w.request(ctx) },
				After:  func(ctx context.Context, _ memsession.Op, _ string) error { return w.reply(ctx) },
			})
			return b, w
		},
		Residue:  func(_ context.Context, key string) (int, error) { return s.Len(key), nil },
		Sessions: func(context.Context) (int, error) { return s.Sessions(), nil },
		Without: map[string]string{
			"DeleteCounter": "one counter serves all keys and cannot be deleted",
			"Foreign":       "nobody else writes there",
			"Restart":       "the service lives in the process",
		},
	}
	if !o.Queue && !o.Wake {
		h.HandOver = 1500 * time.Millisecond
		h.Without["inspect-waiters"] = "nobody who polls is known to the service"
	}
	if !o.Notify {
		h.Without["loss-noticed"] = "a renewal of the session does not see that a key was deleted"
		h.Without["loss-not-recreated"] = "likewise"
		h.Without["break-ends-the-lease"] = "likewise"
	}
	return h
}
