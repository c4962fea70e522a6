package consul_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/hashicorp/consul/api"
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

// questions counts the reads of a client.
func questions(n *atomic.Int64) func(*api.Config) {
	return through(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/kv/") {
			n.Add(1)
		}
		return next.RoundTrip(r)
	})
}

// Stands for: two processes that each have had a turn, looked the other way meanwhile,
// and let each other go first for 50 ms.
func TestNobodyIsLetGoFirstWhoHasHadATurn(t *testing.T) {
	t.Parallel()
	opts := options()
	var asked atomic.Int64
	s, _ := open(t, consullock.New(connect(t, questions(&asked)), opts), long)
	other, _ := open(t, consullock.New(connect(t), opts), long)
	give := func(s distlock.Session, h distlock.Hold) {
		t.Helper()
		if err := s.Release(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	theirs := grant(t, other, "k")
	if _, err := s.TryAcquire(t.Context(), distlock.Request{Key: "k", Owner: distlock.NewOwner(), Terms: long}); !isHeld(err) {
		t.Fatalf("got %v, want that it is held", err)
	}
	give(other, theirs)
	give(s, grant(t, s, "k")) // to let the other go first
	for i := range 3 {
		give(other, grant(t, other, "k"))
		give(s, grant(t, s, "k"))
		if n := asked.Load(); n != int64(i+1) {
			t.Errorf("got %d questions after %d turns of the other's, want 1 for each", n, i+1)
		}
	}
	give(other, grant(t, other, "k")) // unseen once more: this time it is waited for
	grant(t, s, "k")
	if n := asked.Load(); n < 5 {
		t.Errorf("got %d questions, want that a turn is not presumed for ever", n)
	}
}

// Stands for: a waiter that was told that the key is free, and had the listener ask on
// at once for what was news before.
func TestNewsFromBeforeAnAnswerIsNone(t *testing.T) {
	t.Parallel()
	opts := options()
	var asked atomic.Int64
	holder, _ := open(t, consullock.New(connect(t), opts), long)
	s, _ := open(t, consullock.New(connect(t, questions(&asked)), opts), long)
	h := grant(t, holder, "k")
	refused := func() {
		t.Helper()
		if _, err := s.TryAcquire(t.Context(), distlock.Request{Key: "k", Owner: distlock.NewOwner(), Terms: long}); !isHeld(err) {
			t.Fatalf("got %v, want that it is held", err)
		}
	}
	refused()
	woken := make(chan struct{}, 10)
	stop := s.(distlock.Waker).Watch("k", func() { woken <- struct{}{} })
	eventually(t, "it waits for a change", func() bool { return asked.Load() == 2 })
	refused()
	if err := holder.Release(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	<-woken
	grant(t, s, "k")
	stop()
	if err := s.Close(t.Context()); err != nil { // waits for the listener
		t.Error(err)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("got %d questions, want none after the answer that it is free", n)
	}
}
