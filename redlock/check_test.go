package redlock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock"
	goredis "github.com/redis/go-redis/v9"
)

// nobody returns n clients of servers that do not exist.
func nobody(t testing.TB, n int) []goredis.UniversalClient {
	addrs := make([]string, n)
	for i := range addrs {
		addrs[i] = "127.0.0.1:1"
	}
	return dial(t, addrs)
}

func TestBadInputIsRefusedBeforeTheWire(t *testing.T) {
	t.Parallel()
	three := nobody(t, 3)
	with := func(last goredis.UniversalClient) []goredis.UniversalClient {
		return append(three[:2:2], last)
	}
	ring := goredis.NewRing(&goredis.RingOptions{})
	t.Cleanup(func() { ring.Close() })
	cluster := goredis.NewClusterClient(&goredis.ClusterOptions{})
	t.Cleanup(func() { cluster.Close() })
	for _, c := range []struct {
		name    string
		clients []goredis.UniversalClient
		opts    redlock.Options
		set     []distlock.Option
		says    string
	}{
		{name: "no nodes", says: "number of nodes is 0, must be at least 3"},
		{name: "two nodes", clients: three[:2], says: "number of nodes is 2, must be at least 3"},
		{name: "nil", clients: with(nil), says: "node 3 is nil"},
		{name: "nil pointer", clients: with((*goredis.Client)(nil)), says: "node 3 is nil"},
		{name: "the same client twice", clients: with(three[0]), says: "node 3 is the same client as node 1"},
		{name: "Ring", clients: with(ring), says: "node 3 is a *redis.Ring"},
		{name: "Cluster", clients: with(cluster), says: "node 3 is a *redis.ClusterClient"},
		{name: "braces", clients: three, opts: redlock.Options{Prefix: "{x}"}, says: "prefix"},
		{name: "short time-out", clients: three, opts: redlock.Options{NodeTimeout: time.Microsecond}, says: "node timeout is 1µs, must be between 1ms and 10s"},
		{name: "long time-out", clients: three, opts: redlock.Options{NodeTimeout: time.Minute}, says: "node timeout is 1m0s"},
		{name: "negative delay", clients: three, opts: redlock.Options{RestartDelay: -1}, says: "restart delay is -1ns"},
		{name: "TTL over the delay", clients: three, opts: redlock.Options{RestartDelay: 10 * time.Second}, says: "TTL + lock-delay is 30s, must be at most the restart delay of 10s"},
		{name: "short TTL", clients: three, set: []distlock.Option{distlock.WithTTL(time.Millisecond)}, says: "TTL is 1ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := distlock.New(redlock.New(c.clients, &c.opts), c.set...)
			if !errors.Is(err, distlock.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want ErrInvalid and %q", err, c.says)
			}
		})
	}
	for _, n := range []int{3, 4, 5} { // four is allowed
		client(t, redlock.New(nobody(t, n), nil))
	}
}

func TestTokensAreAnOption(t *testing.T) {
	t.Parallel()
	three := nobody(t, 3)
	if _, err := distlock.New(redlock.New(three, nil), distlock.RequireFencing(distlock.FencingBestEffort)); !errors.Is(err, distlock.ErrNoFencing) {
		t.Errorf("got %v, want ErrNoFencing", err)
	}
	fenced := &redlock.Options{Fenced: true}
	client(t, redlock.New(three, fenced), distlock.RequireFencing(distlock.FencingBestEffort))
	if _, err := distlock.New(redlock.New(three, fenced), distlock.RequireFencing(distlock.FencingDurable)); !errors.Is(err, distlock.ErrNoFencing) {
		t.Errorf("got %v, want ErrNoFencing", err)
	}
}
