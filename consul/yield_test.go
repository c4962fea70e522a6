package consul_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
)

// A gate keeps blocking queries until it is opened, as an agent does whose
// answers are slow to come.
type gate struct {
	kept atomic.Int64
	open chan struct{}
}

func (g *gate) pass(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("index") {
		g.kept.Add(1)
		<-g.open
	}
	return next.RoundTrip(r)
}

// yielding returns a client that, on each of n keys, gives up and tries again
// what another wants, until the gate keeps it; and how often it got one again.
func yielding(t *testing.T, g *gate, n int) (c *distlock.Client, got *atomic.Int64) {
	t.Helper()
	opts := options()
	c, other := locks(t, consullock.New(connect(t, through(g.pass)), opts)), locks(t, consullock.New(connect(t), opts))
	var trying sync.WaitGroup
	t.Cleanup(func() { // before the clients are closed
		close(g.open)
		trying.Wait()
	})
	got = new(atomic.Int64)
	for i := range n {
		trying.Go(func() {
			for t.Context().Err() == nil {
				turns(t.Context(), c, other, fmt.Sprint(i), got)
			}
		})
	}
	return c, got
}

// turns has c see that other has key, and then take it twice.
func turns(ctx context.Context, c, other *distlock.Client, key string, got *atomic.Int64) {
	if l, err := other.TryAcquire(ctx, key); err == nil {
		_, _ = c.TryAcquire(ctx, key)
		_ = l.Release(context.Background())
	}
	for again := range 2 {
		l, err := c.TryAcquire(ctx, key)
		if err != nil {
			return
		}
		got.Add(int64(again))
		_ = l.Release(context.Background())
	}
}

// Stands for: to let others go first on 32 keys kept every other request of the
// client waiting.
func TestYieldingKeepsNoRequestWaiting(t *testing.T) {
	t.Parallel()
	g := &gate{open: make(chan struct{})}
	c, _ := yielding(t, g, 32)
	eventually(t, "32 questions", func() bool { return g.kept.Load() == 32 })
	l, err := c.Acquire(within(t, 10*time.Second), "of nobody else")
	if err != nil {
		t.Fatalf("got %v beside 32 questions, want a lock", err)
	}
	release(t, l)
}

// Where all connections for waiting are in use, nobody is let go first.
func TestYieldingWaitsForNoConnection(t *testing.T) {
	t.Parallel()
	g := &gate{open: make(chan struct{})}
	_, got := yielding(t, g, 66)
	eventually(t, "64 questions", func() bool { return g.kept.Load() == 64 })
	before := got.Load()
	eventually(t, "grants without a question", func() bool { return got.Load() >= before+5 })
}
