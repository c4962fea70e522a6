package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/go-zookeeper/zk"
)

// A session is one session of the servers', over one connection at a time.
type session struct {
	backend  *Backend
	terms    distlock.Terms
	link     *link
	zk       *zk.Conn
	events   <-chan zk.Event // closed when the library's goroutines have ended
	id       int64
	lifetime time.Duration
	pulse    pulse
	work     sync.WaitGroup // keepBeating
	renewing chan struct{}  // tells that of a renewal; capacity 1
	over     chan struct{}  // closed when the session is gone or closed

	mu    sync.Mutex // guards all below, and parts of nodes
	cause error      // why it is over
	lost  func(owner distlock.Owner, cause error)
	nodes map[distlock.Owner]*node
	bells map[string]*bell // by the path of the node that they watch
	soon  bool             // watchOwn is about to run
}

// maxRequest bounds a packet to a server. The largest has a path of some 2 KiB in it,
// the holder's text, and ACLs or credentials; the library would set 1.5 MiB aside.
const maxRequest = 128 << 10

var (
	_ distlock.Session      = (*session)(nil)
	_ distlock.Keeper       = (*session)(nil)
	_ distlock.Queuer       = (*session)(nil)
	_ distlock.LossNotifier = (*session)(nil)
)

func (b *Backend) open(ctx context.Context, t distlock.Terms) (*session, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s := &session{
		backend: b, terms: t, link: newLink(b, patience(t)), pulse: pulse{tick: b.opts.Tick},
		renewing: make(chan struct{}, 1),
		over:     make(chan struct{}), nodes: make(map[distlock.Owner]*node), bells: make(map[string]*bell),
	}
	s.link.expired = s.expire
	var err error
	s.zk, s.events, err = zk.Connect(b.servers, t.Lifetime(), zk.WithDialer(s.link.connect),
		zk.WithHostProvider(s.link), zk.WithEventCallback(s.event), zk.WithMaxConnBufferSize(maxRequest),
		zk.WithLogger(silence{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	if err = s.start(ctx); err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

// silence is the library's logger: what it has to say is in its errors.
type silence struct{}

func (silence) Printf(string, ...any) {}

// start waits until the session is open and the user is known to the server.
func (s *session) start(ctx context.Context) error {
	hello, err := s.link.await(ctx)
	if err != nil {
		return err
	}
	s.id, s.lifetime = hello.id, hello.timeout
	if s.lifetime < s.terms.Lifetime() {
		return distlock.Invalid("TTL + lock-delay", s.terms.Lifetime(),
			fmt.Sprintf("at most %v, which is what the server grants", s.lifetime))
	}
	for _, a := range s.backend.opts.Auth {
		_, err := call(ctx, s, func() (struct{}, error) { return struct{}{}, s.zk.AddAuth(a.Scheme, a.Credentials) })
		if err != nil {
			return fmt.Errorf("authenticate with scheme %q: %w", a.Scheme, err)
		}
	}
	s.work.Go(s.keepBeating)
	return nil
}

// abandon ends a session that was not opened to the end.
func (s *session) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), firstPatience)
	go func() { // ends with ctx at the latest
		defer cancel()
		_ = s.Close(ctx)
	}()
}

// expire ends a session that the servers have ended.
func (s *session) expire() {
	if s.end(errExpired) {
		s.link.shut()
		s.mu.Lock()
		lost := s.lost
		s.mu.Unlock()
		if lost != nil {
			lost(distlock.Owner{}, errExpired)
		}
	}
}

// end makes the session one that is over, and reports whether it was not.
func (s *session) end(cause error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause != nil {
		return false
	}
	s.cause = cause
	close(s.over)
	return true
}

// why returns why the session is over, or nil.
func (s *session) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whyLocked()
}

// whyLocked is why with s.mu held.
func (s *session) whyLocked() error {
	if s.cause == errExpired {
		return fmt.Errorf("%w: %w", distlock.ErrLost, errExpired)
	}
	return s.cause
}

func (s *session) isOver() bool { return s.why() != nil }

func isExpired(err error) bool { return errors.Is(err, zk.ErrSessionExpired) }

// mark runs f, which reads or writes what s.mu guards.
func (s *session) mark(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// NotifyLoss registers lost. A session that is gone by now says so at once.
func (s *session) NotifyLoss(lost func(owner distlock.Owner, cause error)) {
	s.mu.Lock()
	s.lost = lost
	gone := s.cause == errExpired
	s.mu.Unlock()
	if gone {
		lost(distlock.Owner{}, errExpired)
	}
}

// Close ends the session on the servers and waits for their word. When ctx ends
// first, the session ends there by its time-out.
func (s *session) Close(ctx context.Context) error {
	s.end(errClosed)
	defer s.work.Wait()
	defer s.link.shut()
	go s.zk.Close() // ends three seconds later at the latest
	for {
		select {
		case _, more := <-s.events:
			if more {
				continue
			}
			if !s.link.isWhole() && !errors.Is(s.why(), errExpired) {
				return errors.New("the servers did not confirm the end of the session")
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
