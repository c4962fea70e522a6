package distlock_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// A vault is a small lock service whose grants live by their session. What a
// test sets of its functions happens in place of, or before, the real thing.
type vault struct {
	fair bool          // sessions are Queuers
	life time.Duration // of a session; 0: as asked for

	onOpen      func(ctx context.Context) error
	onTry       func(ctx context.Context) error // before the attempt
	onAnswer    func(ctx context.Context) error // after the attempt
	onKeepAlive func(ctx context.Context) error
	onRelease   func(ctx context.Context) error
	onClose     func(ctx context.Context) error

	mu       sync.Mutex // guards all below
	token    distlock.Token
	grants   map[string]*vaultGrant
	freed    chan struct{} // closed when a grant ends
	sessions []*vaultSession
	calls    map[string]int
}

type vaultGrant struct {
	owner   distlock.Owner
	session *vaultSession
	token   distlock.Token
}

type vaultSession struct {
	vault  *vault
	terms  distlock.Terms
	lost   func(distlock.Owner, error)
	closed bool
}

// vaultQueue is a session with a fair queue of its own.
type vaultQueue struct{ *vaultSession }

func newVault() *vault {
	return &vault{grants: make(map[string]*vaultGrant), freed: make(chan struct{}), calls: make(map[string]int)}
}

func (v *vault) Info() distlock.Info {
	return distlock.Info{Name: "vault", Fencing: distlock.FencingDurable, SessionPerTerms: true}
}

func (v *vault) Check(t distlock.Terms) (distlock.Terms, error) {
	return t.CheckTTL(time.Second, 24*time.Hour, time.Hour)
}

func (v *vault) Ping(context.Context) error { return nil }

func (v *vault) Open(ctx context.Context, terms distlock.Terms) (distlock.Session, error) {
	if err := v.called(ctx, "open", &v.onOpen); err != nil {
		return nil, err
	}
	s := &vaultSession{vault: v, terms: terms}
	v.mu.Lock()
	v.sessions = append(v.sessions, s)
	v.mu.Unlock()
	if v.fair {
		return vaultQueue{s}, nil
	}
	return s, nil
}

// set changes functions of v while it is in use.
func (v *vault) set(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f()
}

// called counts a call and runs the test's function for it.
func (v *vault) called(ctx context.Context, name string, on *func(context.Context) error) error {
	v.mu.Lock()
	v.calls[name]++
	f := *on
	v.mu.Unlock()
	if f != nil {
		return f(ctx)
	}
	return ctx.Err()
}

// count returns the number of calls of name so far.
func (v *vault) count(name string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.calls[name]
}

// open returns the sessions that are not closed.
func (v *vault) open() (open []*vaultSession) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.sessions {
		if !s.closed {
			open = append(open, s)
		}
	}
	return open
}

// held returns the keys that are held, in order.
func (v *vault) held() (keys []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key := range v.grants {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// take grants r if it is free, or returns what to wait for.
func (s *vaultSession) take(r distlock.Request) (distlock.Hold, chan struct{}) {
	v := s.vault
	v.mu.Lock()
	defer v.mu.Unlock()
	g := v.grants[r.Key]
	if g == nil {
		v.token++
		g = &vaultGrant{owner: r.Owner, session: s, token: v.token}
		v.grants[r.Key] = g
	}
	if g.owner != r.Owner {
		return distlock.Hold{}, v.freed
	}
	return distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms, Token: g.token, State: s}, nil
}

func (s *vaultSession) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	if err := s.vault.called(ctx, "try", &s.vault.onTry); err != nil {
		return distlock.Hold{}, err
	}
	h, wait := s.take(r)
	if wait != nil {
		return h, distlock.Held(0)
	}
	return h, s.answer(ctx)
}

// answer is what becomes of the answer of a grant on its way back.
func (s *vaultSession) answer(ctx context.Context) error {
	return s.vault.called(ctx, "answer", &s.vault.onAnswer)
}

func (s vaultQueue) Acquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	if err := s.vault.called(ctx, "queue", &s.vault.onTry); err != nil {
		return distlock.Hold{}, err
	}
	for {
		h, wait := s.take(r)
		if wait == nil {
			return h, s.answer(ctx)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return h, ctx.Err()
		}
	}
}

func (s *vaultSession) Release(ctx context.Context, h distlock.Hold) error {
	if err := s.vault.called(ctx, "release", &s.vault.onRelease); err != nil {
		return err
	}
	if !s.vault.free(func(key string, g *vaultGrant) bool { return key == h.Key && g.owner == h.Owner }) {
		return distlock.ErrLost
	}
	return nil
}

// free ends the grants that match.
func (v *vault) free(match func(key string, g *vaultGrant) bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := len(v.grants)
	for key, g := range v.grants {
		if match(key, g) {
			delete(v.grants, key)
		}
	}
	close(v.freed)
	v.freed = make(chan struct{})
	return len(v.grants) < before
}

func (s *vaultSession) Close(ctx context.Context) error {
	if err := s.vault.called(ctx, "close", &s.vault.onClose); err != nil {
		return err
	}
	s.vault.mu.Lock()
	s.closed = true
	s.vault.mu.Unlock()
	s.vault.free(func(_ string, g *vaultGrant) bool { return g.session == s })
	return nil
}

func (s *vaultSession) Lifetime() time.Duration {
	if s.vault.life > 0 {
		return s.vault.life
	}
	return s.terms.Lifetime()
}

func (s *vaultSession) KeepAlive(ctx context.Context, at distlock.Instant) (distlock.Instant, error) {
	return at, s.vault.called(ctx, "keepalive", &s.vault.onKeepAlive)
}

func (s *vaultSession) NotifyLoss(lost func(distlock.Owner, error)) { s.lost = lost }
