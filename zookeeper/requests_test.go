package zookeeper_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	zklock "github.com/distlock-go/distlock/zookeeper"
)

// The kinds of requests.
const (
	remove, getData, ping, children, check, multi, create2, createContainer, hello = 2, 4, 11, 12, 13, 14, 15, 19, -1
)

// A tap notes the kinds of the requests that leave over its connections, pings and
// probes apart.
type tap struct {
	mu          sync.Mutex // guards all below
	kinds       []int
	probes      int
	connections int
}

type tapped struct {
	net.Conn
	tap    *tap
	spoken bool
}

func (t *tap) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.connections++
	t.mu.Unlock()
	return &tapped{Conn: c, tap: t}, nil
}

func (c *tapped) Write(p []byte) (int, error) {
	kind := hello
	if c.spoken {
		kind = int(int32(binary.BigEndian.Uint32(p[8:])))
	}
	c.spoken = true
	c.tap.mu.Lock()
	switch kind {
	case ping:
	case multi:
		if binary.BigEndian.Uint32(p[12:]) == check { // its first operation
			c.tap.probes++
			break
		}
		c.tap.kinds = append(c.tap.kinds, kind)
	default:
		c.tap.kinds = append(c.tap.kinds, kind)
	}
	c.tap.mu.Unlock()
	return c.Conn.Write(p)
}

// sent returns the kinds of what was sent since the last call, in no order.
func (t *tap) sent() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	kinds := t.kinds
	t.kinds = nil
	slices.Sort(kinds)
	return kinds
}

func TestCostsInRequests(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	wire := new(tap)
	c := s.client(s.backend(func(o *zklock.Options) { o.Dial = wire.dial }))
	take := func(key string) *distlock.Lease {
		t.Helper()
		l, err := c.TryAcquire(within(t, bound), key)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	give := func(l *distlock.Lease) {
		t.Helper()
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	costs := func(what string, want ...int) {
		t.Helper()
		got := slices.DeleteFunc(wire.sent(), func(kind int) bool { return kind == getData }) // of a slow machine's lock
		if !slices.Equal(got, want) {
			t.Errorf("%s: requests of the kinds %v, want %v", what, got, want)
		}
	}
	give(take("warm-up"))
	wire.sent()
	l := take("new")
	if got := wire.sent(); !slices.Contains(got, createContainer) { // and once more a create, if they overtook each other
		t.Errorf("a new key: requests of the kinds %v, want a container's creation", got)
	}
	give(l)
	costs("a release", remove)
	l = take("new")
	costs("a known key", children, create2)
	give(l)
	costs("its release", remove)
	l = take("new") // held for a while: is watched
	wire.sent()
	for end := time.Now().Add(bound); ; time.Sleep(time.Millisecond) {
		if kinds := wire.sent(); slices.Equal(kinds, []int{getData}) {
			break
		} else if len(kinds) > 0 || time.Now().After(end) {
			t.Fatalf("a lock that is held: requests of the kinds %v, want one read", kinds)
		}
	}
	give(l)
	wire.sent()
	holder, err := s.client(s.backend()).Acquire(within(t, bound), "new")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.TryAcquire(within(t, bound), "new"); err == nil {
		t.Fatal("a held key was granted")
	}
	costs("a refusal", remove, children, create2)
	give(holder)
}

// However many locks a session holds, it is renewed once each third of the TTL, over one
// connection.
func TestHeldLeasesAreRenewedTogether(t *testing.T) {
	t.Parallel()
	const (
		ttl    = 6 * time.Second
		leases = 1000
	)
	s := newSpace(t)
	wire := new(tap)
	renewals := make(chan struct{}, 1000)
	c := s.client(s.backend(func(o *zklock.Options) { o.Dial = wire.dial }), distlock.WithTTL(ttl),
		distlock.WithTrace(&distlock.Trace{Renewed: func(distlock.RenewInfo) { renewals <- struct{}{} }}))
	var held []*distlock.Lease
	for i := range leases {
		l, err := c.Acquire(within(t, bound), fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, l)
	}
	wire.mu.Lock()
	before := wire.probes
	wire.kinds = nil
	wire.mu.Unlock()
	for len(renewals) > 0 {
		<-renewals
	}
	for range 3 {
		select {
		case <-renewals:
		case <-time.After(ttl):
			t.Fatal("no renewal within a TTL")
		}
	}
	for _, l := range held {
		if !l.Valid() {
			t.Fatalf("a lease was lost: %v", l.Err())
		}
	}
	if others := wire.sent(); slices.ContainsFunc(others, func(kind int) bool { return kind != getData }) || len(others) > leases {
		t.Errorf("%d requests for %d leases besides probes, want one read each", len(others), leases)
	}
	wire.mu.Lock()
	defer wire.mu.Unlock()
	if n := wire.probes - before; n < 4 || n > 14 { // two to five for each, and those around them
		t.Errorf("%d probes for three renewals of %d leases", n, leases)
	}
	if wire.connections != 1 {
		t.Errorf("%d connections", wire.connections)
	}
}
