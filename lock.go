package distlock

import (
	"context"
	"fmt"
	"sync"

	"github.com/distlock-go/distlock/internal/absent"
	"github.com/distlock-go/distlock/internal/clock"
)

// A Locker hands out leases on keys. *Client is the one implementation here;
// code that only takes locks should ask for a Locker.
//
// A key is 1 to 512 bytes of UTF-8 without NUL. All methods are safe for
// concurrent use.
type Locker interface {
	// Acquire waits until it is granted key or ctx ends. On success the lease
	// is the caller's to Release, and lives on when ctx ends: ctx governs the
	// wait only. On failure there is no lease, and what an unanswered request
	// may have left on the server is deleted behind the call: it blocks others
	// for at most a second while the server is reachable, and for one
	// server-side lifetime otherwise.
	//
	// A wait that ends by ctx matches both ErrHeld and ctx.Err(). A first
	// attempt that fails is returned; once told to wait, the call tries again
	// through failures of the service until it has had no answer for one TTL.
	// Goroutines of one client that want the same key are served in the order
	// in which they came. A goroutine that acquires a key it holds already
	// waits for itself.
	Acquire(ctx context.Context, key string, opts ...Option) (*Lease, error)
	// TryAcquire makes one attempt and does not wait: ErrHeld says that
	// somebody else has the key, or that waiters of this client are queued for
	// it. Its failures are those of Acquire.
	TryAcquire(ctx context.Context, key string, opts ...Option) (*Lease, error)
}

var _ Locker = (*Client)(nil)

// A Client takes locks through one Backend. It renews the leases it has handed
// out, tells their holders of a loss, and cleans up behind calls that were cut
// short. It starts no goroutine before the first call and keeps none while it
// has nothing to look after. Close it to give up everything it holds.
type Client struct {
	backend  Backend
	info     Info
	defaults settings
	trace    Trace
	now      func() Instant

	closing chan struct{}   // closed when Close begins, under mu
	closed  chan struct{}   // closed when Close has done everything
	base    context.Context // of requests that clean up; ends some time after Close began
	endBase context.CancelFunc

	mu        sync.Mutex // guards all below, and the fields of its sessions, lines and leases that say so
	reporting bool       // a goroutine makes reports
	sessions  map[Terms]*session
	lines     map[string]*line
	leases    map[*Lease]struct{}                 // handed out and not yet over
	calls     map[*acquisition]context.CancelFunc // requests under way for a key
	agenda    agenda
	after     []func() // to be run by unlock
	dust      dust
	reports   []func()       // to be made by reporter
	ops       sync.WaitGroup // calls to acquire; Add under mu, and not once Close has begun
	running   sync.WaitGroup // functions of Do; likewise
	work      sync.WaitGroup // background goroutines
}

// New makes a client on b. It checks every option and touches no network: see
// Ping. Errors match ErrInvalid or ErrNoFencing.
func New(b Backend, opts ...Option) (*Client, error) {
	if absent.Is(b) {
		return nil, &Error{Op: "new", Err: Invalid("backend", "nil", "a Backend")}
	}
	c, err := newClient(b, opts)
	if err != nil {
		return nil, &Error{Op: "new", Backend: b.Info().Name, Err: err}
	}
	return c, nil
}

func newClient(b Backend, opts []Option) (*Client, error) {
	s, err := newSettings(b, opts)
	if err != nil {
		return nil, err
	}
	info := b.Info()
	if info.Fencing < s.fencing {
		return nil, fmt.Errorf("%w: %s offers %v, %v is required", ErrNoFencing, info.Name, info.Fencing, s.fencing)
	}
	elapsed := s.clock
	base, endBase := context.WithCancel(context.Background())
	return &Client{
		base: base, endBase: endBase,
		backend: b, info: info, defaults: s, trace: s.trace,
		now:     func() Instant { return Instant(elapsed()) },
		closing: make(chan struct{}), closed: make(chan struct{}),
		sessions: make(map[Terms]*session),
		lines:    make(map[string]*line),
		leases:   make(map[*Lease]struct{}),
		calls:    make(map[*acquisition]context.CancelFunc),
		agenda:   newAgenda(),
	}, nil
}

// newSettings returns the defaults of a client on b.
func newSettings(b Backend, opts []Option) (settings, error) {
	s := defaults()
	if err := s.apply(opts, false); err != nil {
		return s, err
	}
	var err error
	s.terms, err = b.Check(s.asked)
	if err == nil {
		err = s.checkMinHold(b)
	}
	if s.clock == nil {
		s.clock = clock.System()
	}
	return s, err
}

// Ping asks the server whether this client can work with it: reachable, of a
// version the backend supports, with the rights it needs. It takes no lock.
// Call it at start-up to learn early what the first Acquire would tell. It takes 10 s
// at most, and Close cuts it short.
func (c *Client) Ping(ctx context.Context) error {
	if c.isClosing() {
		return c.fail("ping", "", ErrClosed)
	}
	pctx, cancel := context.WithTimeout(ctx, openBound)
	defer cancel()
	go func() { // ends with the call
		select {
		case <-c.closing:
			cancel()
		case <-pctx.Done():
		}
	}()
	err := c.backend.Ping(pctx)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
	case c.isClosing():
		err = ErrClosed
	default:
		err = inner(err)
	}
	return c.fail("ping", "", err)
}

// isClosing reports whether Close has begun.
func (c *Client) isClosing() bool {
	select {
	case <-c.closing:
		return true
	default:
		return false
	}
}

// fail wraps an error once, on its way out.
func (c *Client) fail(op, key string, err error) error {
	if r, ok := err.(*refusedError); ok {
		err = r.err
	}
	return &Error{Op: op, Backend: c.info.Name, Key: key, Err: err}
}

// settings returns what is in force for one call.
func (c *Client) settings(opts []Option) (*settings, error) {
	if len(opts) == 0 {
		return &c.defaults, nil
	}
	s := c.defaults
	if err := s.apply(opts, true); err != nil {
		return nil, err
	}
	if s.asked != c.defaults.asked {
		terms, err := c.backend.Check(s.asked)
		if err != nil {
			return nil, err
		}
		s.terms = terms
	}
	if err := s.checkMinHold(c.backend); err != nil {
		return nil, err
	}
	return &s, nil
}

// unlock lets go of mu and then runs what was put off until then: ends of
// contexts, which may run code that comes back to the client.
func (c *Client) unlock() {
	after := c.after
	c.after = nil
	c.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// spawn runs f in a goroutine that Close waits for.
func (c *Client) spawn(f func()) {
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		f()
	}()
}
