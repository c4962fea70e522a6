package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

// is fails the test unless err matches want, or is nil where that is.
func is(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// acquireKey gets key or ends the test.
func (s *space) acquireKey(c *distlock.Client, key string) *distlock.Lease {
	s.Helper()
	l, err := c.Acquire(within(s, 2*bound), key)
	if err != nil {
		s.Fatal(err)
	}
	return l
}

// children waits until the lock of key has n nodes, and returns their names.
func (s *space) children(key string, n int) (names []string) {
	s.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(5 * time.Millisecond) {
		names, _, _ = s.admin.Children(s.root + "/" + key)
		if len(names) == n {
			return names
		}
		if time.Now().After(end) {
			s.Fatalf("%q has %d nodes, want %d", key, len(names), n)
		}
	}
}

// A grant is what Acquire came to, and when.
type grant struct {
	lease *distlock.Lease
	err   error
	at    time.Time
}

// With a lock-delay a node that is nobody's takes the holder's place: those that wait
// go on waiting, in their order, and nothing of the holder's is met any more. Who has
// broken the lock has no connection any more.
func TestBreakWithADelayKeepsThePlace(t *testing.T) {
	t.Parallel()
	const delay = 3 * time.Second
	s := newSpace(t)
	l := s.acquireKey(s.client(s.backend()), "job")
	var next []chan grant
	for i := range 2 {
		c, granted := s.client(s.backend()), make(chan grant, 1)
		go func() {
			l, err := c.Acquire(within(t, 3*bound), "job")
			granted <- grant{l, err, time.Now()}
		}()
		s.children("job", i+2)
		next = append(next, granted)
	}
	breaker := s.client(s.backend(), distlock.WithLockDelay(delay))
	begun := time.Now()
	is(t, "Break", breaker.Break(t.Context(), "job", l.Token()), nil)
	broken := time.Now()
	select {
	case <-l.Done():
	case <-time.After(bound):
		t.Fatal("the loss is not told")
	}
	is(t, "the lease", l.Err(), distlock.ErrLost)
	_, err := s.admin.Multi(zklock.Held(l))
	is(t, "Held of a broken lock", err, zk.ErrNoNode)
	looker := s.client(s.backend())
	got, err := looker.Inspect(t.Context(), "job")
	if err != nil || got.Held || got.Token != 0 || time.Since(broken) < delay/2 && got.Waiters != 2 {
		t.Errorf("Inspect within the lock-delay: got %+v, %v", got, err)
	}
	is(t, "CheckSequencer", looker.CheckSequencer(t.Context(), l.Sequencer()), distlock.ErrStale)
	is(t, "Break again", breaker.Break(t.Context(), "job", l.Token()), distlock.ErrStale)
	is(t, "Release of a broken lock", l.Release(t.Context()), distlock.ErrLost)
	for i, granted := range next {
		g := <-granted
		is(t, fmt.Sprint("waiter ", i), g.err, nil)
		if since := g.at.Sub(begun); since < delay {
			t.Errorf("waiter %d was granted after %v, the lock-delay is %v", i, since, delay)
		}
		is(t, "Release", g.lease.Release(t.Context()), nil)
	}
}

// A dying has the client die when it has sent a transaction.
type dying struct {
	net.Conn
	dead *atomic.Bool
}

func (d dying) Write(p []byte) (int, error) {
	n, err := d.Conn.Write(p)
	if len(p) > 16 && binary.BigEndian.Uint32(p[8:]) == multi && binary.BigEndian.Uint32(p[12:]) != check { // a probe
		d.dead.Store(true)
	}
	return n, err
}

func (d dying) Read(p []byte) (int, error) {
	n, err := d.Conn.Read(p)
	if d.dead.Load() {
		_ = d.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// Should the breaker die before it hears of its transaction, the key stays taken for
// the lock-delay all the same.
func TestBreakerDiesWithinTheBreak(t *testing.T) {
	t.Parallel()
	const delay = 4 * time.Second
	s := newSpace(t)
	l := s.acquireKey(s.client(s.backend()), "job")
	var dead atomic.Bool
	breaker := s.client(s.backend(func(o *zklock.Options) {
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if dead.Load() {
				return nil, errors.New("dead")
			}
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			return dying{c, &dead}, err
		}
	}), distlock.WithLockDelay(delay))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- breaker.Break(ctx, "job", l.Token()) }()
	<-l.Done()
	broken := time.Now()
	cancel()
	if err := <-done; err == nil || errors.Is(err, distlock.ErrStale) {
		t.Errorf("Break without an answer: got %v", err)
	}
	c := s.client(s.backend())
	next := s.acquireKey(c, "job")
	if since := time.Since(broken); since < delay-time.Second { // since the session was opened
		t.Errorf("granted after %v, the lock-delay is %v", since, delay)
	}
	is(t, "Release", next.Release(t.Context()), nil)
}

// On an ensemble each server gives the same answer, and none that is older than the call.
func TestSequencersOnEachServer(t *testing.T) {
	t.Parallel()
	servers := addresses(t, ensembles[1].env)
	root := "/test-" + distlock.NewOwner().Text()
	s := &space{TB: t, servers: servers, root: root}
	var on []*distlock.Client
	for _, addr := range servers {
		s.servers = []string{addr}
		on = append(on, s.client(s.backend()))
	}
	for range 3 {
		l := s.acquireKey(on[0], "job")
		for _, c := range on {
			is(t, "CheckSequencer of a grant", c.CheckSequencer(t.Context(), l.Sequencer()), nil)
		}
		is(t, "Release", l.Release(t.Context()), nil)
		for _, c := range on {
			is(t, "CheckSequencer after the release", c.CheckSequencer(t.Context(), l.Sequencer()), distlock.ErrStale)
		}
	}
}
