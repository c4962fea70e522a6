package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	"github.com/distlock-go/distlock/redlock"
	goredis "github.com/redis/go-redis/v9"
)

// patient is a time-out of nodes that a busy machine does not exceed. What does not
// wait for a node is known by taking less.
const patient = 2 * time.Second

// masters starts five independent servers.
func masters(t testing.TB, of servers.Spec) *servers.Masters {
	t.Helper()
	return servers.Start(t, servers.MastersSpec{Of: of, Count: 5})
}

// dialAll returns a client with default options for each node.
func dialAll(t testing.TB, m *servers.Masters) (all []goredis.UniversalClient) {
	t.Helper()
	for _, addr := range m.Addrs() {
		all = append(all, dial(t, addr))
	}
	return all
}

// locksOver returns a lock client over the nodes, closed at the end of the test.
func locksOver(t testing.TB, m *servers.Masters, o redlock.Options, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	if o.NodeTimeout == 0 {
		o.NodeTimeout = patient
	}
	c, err := distlock.New(redlock.New(dialAll(t, m), &o), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeBound)
		defer cancel()
		_ = c.Close(ctx) // an error says only that servers are gone
	})
	return c
}

// nodeLock is the documented name of a lock on a node.
func nodeLock(key string) string { return redlock.DefaultPrefix + "{" + key + "}" }

// having returns how many of the nodes have key.
func having(t testing.TB, all []goredis.UniversalClient, key string) (n int) {
	t.Helper()
	for _, c := range all {
		if value(t, c, nodeLock(key)) != "" {
			n++
		}
	}
	return n
}

// onEach does one thing to each of some servers.
func onEach(t testing.TB, nodes []*servers.Server, do func(*servers.Server, context.Context) error) {
	t.Helper()
	for _, n := range nodes {
		servers.Do(t, func(ctx context.Context) error { return do(n, ctx) })
	}
}
