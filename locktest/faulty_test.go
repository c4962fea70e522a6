package locktest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/locktest"
	"github.com/distlock-go/distlock/memory"
)

// A service is memory behind wires, with faults to be proved.
type service struct {
	memory *memory.Backend
	fault  fault

	mu     sync.Mutex     // guards all below
	open   int            // sessions
	junk   map[string]int // what a fault left behind, by key
	tokens distlock.Token // the largest so far
	base   distlock.Token // to be taken off
	owners map[string]any
	seen   map[string]bool // keys that were asked for over a wire
}

// A fault replaces parts of a healthy backend. What is nil stays healthy.
type fault struct {
	info    func(distlock.Info) distlock.Info
	ping    func(ctx context.Context) error
	check   func(b *backend, t distlock.Terms) (distlock.Terms, error)
	opened  func(s *session)
	acquire func(ctx context.Context, s *session, r distlock.Request) (distlock.Hold, error)
	renew   func(ctx context.Context, s *session, holds []distlock.Hold) []error
	release func(ctx context.Context, s *session, h distlock.Hold) error
	watch   func(s *session, key string, wake func()) func()
	close   func(ctx context.Context, s *session) error

	inspector bool // the backend is one: not where tokens are others than memory's
	inspect   func(ctx context.Context, s *service, key string) (distlock.LockInfo, error)
	breaks    func(ctx context.Context, s *service, key string, t distlock.Token, delay time.Duration) error

	delete, deleteCounter func(s *service, key string)
	reset                 func(s *service)
	restart               func(s *service)
	deaf                  bool // calls over a dead network do not end with ctx
}

// A backend is one connection to a service.
type backend struct {
	service *service
	wire    *wire
}

func newService(f fault) *service {
	return &service{memory: memory.New(), fault: f, owners: make(map[string]any), seen: make(map[string]bool), junk: make(map[string]int)}
}

// harness describes s with all its capabilities.
func (s *service) harness(ttl time.Duration) locktest.Harness {
	do := func(f func(*service, string)) func(context.Context, string) error {
		return func(_ context.Context, key string) error {
			if f != nil {
				f(s, key)
			}
			return nil
		}
	}
	return locktest.Harness{
		Backend:   func(testing.TB) distlock.Backend { return s.connect(nil) },
		TTL:       ttl,
		LockDelay: ttl,
		Delete: func(ctx context.Context, key string) error {
			s.memory.Expire(key)
			return do(s.fault.delete)(ctx, key)
		},
		Foreign: func(_ context.Context, key string) error {
			s.own(key+" foreign", true)
			return nil
		},
		Without:       map[string]string{},
		DeleteCounter: do(s.fault.deleteCounter),
		Link: func(testing.TB) (distlock.Backend, locktest.Link) {
			w := newWire()
			return s.connect(w), &link{w, s}
		},
		Residue: func(_ context.Context, key string) (int, error) { return s.residue(key), nil },
		Sessions: func(context.Context) (int, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.open, nil
		},
		Restart: func(context.Context) error {
			if s.fault.restart != nil {
				s.fault.restart(s)
			}
			return nil
		},
	}
}

// residue is what a fault left behind, and one more if key is held.
func (s *service) residue(key string) int {
	ctx := context.Background()
	s.mu.Lock()
	n := s.junk[key]
	s.mu.Unlock()
	terms := distlock.Terms{TTL: time.Second}
	probe, _ := s.memory.Open(ctx, terms)
	h, err := probe.TryAcquire(ctx, distlock.Request{Key: key, Owner: distlock.NewOwner(), Terms: terms})
	if err != nil {
		n++
	} else {
		_ = probe.Release(ctx, h)
	}
	_ = probe.Close(ctx)
	return n
}

// A link is a wire that a fault can hear of.
type link struct {
	*wire
	service *service
}

func (l *link) Reset() {
	l.wire.Reset()
	if l.service.fault.reset != nil {
		l.service.fault.reset(l.service)
	}
}

func (b *backend) Info() distlock.Info {
	if f := b.service.fault.info; f != nil {
		return f(b.service.memory.Info())
	}
	return b.service.memory.Info()
}

func (b *backend) Check(t distlock.Terms) (distlock.Terms, error) {
	if f := b.service.fault.check; f != nil {
		return f(b, t)
	}
	return b.service.memory.Check(t)
}

func (b *backend) Ping(ctx context.Context) error {
	if f := b.service.fault.ping; f != nil {
		return f(ctx)
	}
	return b.service.memory.Ping(ctx)
}

func (b *backend) Open(ctx context.Context, t distlock.Terms) (distlock.Session, error) {
	if err := b.wire.request(ctx); err != nil {
		return nil, err
	}
	healthy, err := b.service.memory.Open(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := b.wire.reply(ctx); err != nil {
		return nil, err
	}
	s := &session{b, healthy.(memorySession)}
	b.service.count(1)
	if f := b.service.fault.opened; f != nil {
		f(s)
	}
	return s, nil
}

func (s *service) count(n int) {
	s.mu.Lock()
	s.open += n
	s.mu.Unlock()
}

// memorySession is what the sessions of memory can do.
type memorySession interface {
	distlock.Session
	distlock.Renewer
	distlock.Waker
}

// A session is one of memory's, behind a wire and with a fault.
type session struct {
	*backend
	healthy memorySession
}

func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	if s.service.fault.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	s.service.mu.Lock()
	if s.wire != nil {
		s.service.seen[r.Key] = true
	}
	s.service.mu.Unlock()
	if err := s.wire.request(ctx); err != nil {
		return distlock.Hold{}, err
	}
	acquire := s.healthy.TryAcquire
	if f := s.service.fault.acquire; f != nil {
		acquire = func(ctx context.Context, r distlock.Request) (distlock.Hold, error) { return f(ctx, s, r) }
	}
	h, err := acquire(ctx, r)
	if lost := s.wire.reply(ctx); lost != nil {
		return distlock.Hold{}, lost
	}
	return h, err
}

func (s *session) Renew(ctx context.Context, holds []distlock.Hold) []error {
	if err := s.wire.request(ctx); err != nil {
		return same(err, len(holds))
	}
	renew := s.healthy.Renew
	if f := s.service.fault.renew; f != nil {
		renew = func(ctx context.Context, holds []distlock.Hold) []error { return f(ctx, s, holds) }
	}
	errs := renew(ctx, holds)
	if lost := s.wire.reply(ctx); lost != nil {
		return same(lost, len(holds))
	}
	return errs
}

func same(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

func (s *session) Release(ctx context.Context, h distlock.Hold) error {
	if err := s.wire.request(ctx); err != nil {
		return err
	}
	release := s.healthy.Release
	if f := s.service.fault.release; f != nil {
		release = func(ctx context.Context, h distlock.Hold) error { return f(ctx, s, h) }
	}
	err := release(ctx, h)
	if lost := s.wire.reply(ctx); lost != nil {
		return lost
	}
	return err
}

func (s *session) Watch(key string, wake func()) func() {
	passed := func() {
		if s.wire.reply(context.Background()) == nil {
			wake()
		}
	}
	if f := s.service.fault.watch; f != nil {
		return f(s, key, passed)
	}
	return s.healthy.Watch(key, passed)
}

func (s *session) Close(ctx context.Context) error {
	if err := s.wire.request(ctx); err != nil {
		return err
	}
	if f := s.service.fault.close; f != nil {
		return f(ctx, s)
	}
	s.service.count(-1)
	return s.healthy.Close(ctx)
}
