package distlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/memory"
)

// bubble runs f under synctest, where time costs nothing. The bubble ends only
// when every goroutine in it has: each such test is a leak test too.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// bubbleIn is a subtest in a bubble.
func bubbleIn(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, f) })
}

// newClient makes a client by the bubble's time that is closed at the end.
func newClient(t testing.TB, b distlock.Backend, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	c, err := distlock.New(b, append([]distlock.Option{distlock.WithClock(clock.Monotonic())}, opts...)...)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("Close at the end: %v", err)
		}
	})
	return c
}

// acquire takes key, which must succeed.
func acquire(t testing.TB, c distlock.Locker, key string, opts ...distlock.Option) *distlock.Lease {
	t.Helper()
	l, err := c.Acquire(t.Context(), key, opts...)
	if err != nil {
		t.Fatalf("Acquire %q: %v", key, err)
	}
	return l
}

// is checks that err matches every target; a nil target wants a nil err.
func is(t testing.TB, what string, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("%s: got %v, want %v", what, err, target)
		}
	}
}

// isNot checks that err matches none of targets.
func isNot(t testing.TB, what string, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if errors.Is(err, target) {
			t.Errorf("%s: got %v, which must not match %v", what, err, target)
		}
	}
}

// isOver reports whether ch is closed.
func isOver(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// A tally counts calls to the service.
type tally struct {
	mu sync.Mutex
	n  map[memory.Op]int
}

// count has hooks of b call before, if not nil, and counts.
func count(b *memory.Backend, h memory.Hooks) *tally {
	c := &tally{n: make(map[memory.Op]int)}
	before := h.Before
	h.Before = func(ctx context.Context, op memory.Op, key string) error {
		c.mu.Lock()
		c.n[op]++
		c.mu.Unlock()
		if before != nil {
			return before(ctx, op, key)
		}
		return nil
	}
	b.SetHooks(h)
	return c
}

// of returns the number of calls of op, and starts again from 0.
func (c *tally) of(op memory.Op) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n[op]
	c.n[op] = 0
	return n
}

// on makes a hook that acts on calls of op only.
func on(op memory.Op, f func(ctx context.Context) error) func(context.Context, memory.Op, string) error {
	return func(ctx context.Context, o memory.Op, _ string) error {
		if o != op {
			return nil
		}
		return f(ctx)
	}
}

// hang blocks until ctx ends, as a server does that does not answer.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// errNet is a failure of the network.
var errNet = errors.New("connection reset")

func netDown(context.Context) error { return errNet }

// A tweak is a backend with sessions that are changed on their way out.
type tweak struct {
	*memory.Backend
	session func(memorySession) distlock.Session
}

// memorySession is what memory's sessions can do.
type memorySession interface {
	distlock.Session
	distlock.Renewer
	distlock.Waker
}

func (b tweak) Open(ctx context.Context, terms distlock.Terms) (distlock.Session, error) {
	s, err := b.Backend.Open(ctx, terms)
	if err != nil {
		return nil, err
	}
	return b.session(s.(memorySession)), nil
}
