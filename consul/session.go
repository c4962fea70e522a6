package consul

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
)

// A session is one of Consul's. It is also the State of its Holds.
type session struct {
	backend *Backend
	id      string // a secret
	terms   distlock.Terms
	gone    atomic.Bool // Consul has said so
	account *account
	hub     *hub
	lost    func(owner distlock.Owner, cause error) // set before any grant; may be nil
	looking atomic.Bool                             // lookForEntries is under way
	allowed int                                     // how many entries it may look for; its own
}

var (
	_ distlock.Keeper       = (*session)(nil)
	_ distlock.Waker        = (*session)(nil)
	_ distlock.LossNotifier = (*session)(nil)
)

func newSession(b *Backend, id string, t distlock.Terms) *session {
	return &session{
		backend: b, id: id, terms: t,
		account: newAccount(),
		hub:     newHub(b, id),
	}
}

// Lifetime is the TTL and the lock-delay. Consul promises no more than the
// TTL, and keeps a session for twice that.
func (s *session) Lifetime() time.Duration { return s.terms.Lifetime() }

// KeepAlive renews the session, and has its entries looked for behind that. The
// leader renews by its own clock, and begins anew for all sessions when it is elected.
func (s *session) KeepAlive(ctx context.Context, at distlock.Instant) (distlock.Instant, error) {
	err := s.backend.renewSession(ctx, s.id)
	if errors.Is(err, distlock.ErrLost) {
		s.gone.Store(true)
	}
	if err == nil && s.lost != nil {
		s.hub.start(s.lookForEntries)
	}
	return at, err
}

// TryAcquire locks the entry if there is none. Since each release deletes the
// entry, that there is none is what a free key looks like; and since no entry
// is ever locked twice, no request can take a lock from under another owner of
// this session, however late it arrives.
func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	h := distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms}
	if err := ctx.Err(); err != nil {
		return h, distlock.Refused(err)
	}
	token, again, err := s.account.claim(r.Key, r.Owner)
	if err == nil && token == 0 {
		a := attempt{session: s, request: r, name: s.name(r.Key), again: again}
		token, err = a.run(ctx)
	}
	if err != nil {
		return h, err
	}
	h.Token, h.State = token, s
	return h, nil
}

// name is that of key's entry.
func (s *session) name(key string) string { return entryName(s.backend.opts.Prefix, key) }

// Close ends the session, and its locks with it. Since Consul would delay the
// next lock of each, as for a holder that died, they are released before if
// there is time.
func (s *session) Close(ctx context.Context) error {
	s.hub.close()
	if s.gone.Load() {
		return nil
	}
	if s.terms.LockDelay > 0 {
		s.releaseAll(ctx)
	}
	return s.backend.destroySession(ctx, s.id)
}
