package faults_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/distlock-go/distlock/internal/integration/servers"
	"github.com/hashicorp/consul/api"
)

// healthyConsul is a server that no test harms, started when it is first asked for.
var healthyConsul = sync.OnceValues(func() (*servers.Server, error) {
	return servers.Consul.Launch(context.Background())
})

// consulAt returns a client of the agent at addr, with an ACL token if one is given.
func consulAt(t testing.TB, addr string, token ...string) *api.Client {
	t.Helper()
	config := api.DefaultConfig()
	config.Address = addr
	for _, s := range token {
		config.Token = s
	}
	c, err := api.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(config.Transport.CloseIdleConnections)
	return c
}

// consulLocksOn returns a lock client on c, without lock-delay, closed at the end of the
// test.
func consulLocksOn(t testing.TB, c *api.Client, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	return consulLocksOnNode(t, c, "", opts...)
}

// consulLocksOnNode is consulLocksOn with sessions of that node's; "" is the agent's own.
func consulLocksOnNode(t testing.TB, c *api.Client, node string, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	minTTL, err := time.ParseDuration(servers.ConsulMinTTL)
	if err != nil {
		t.Fatal(err)
	}
	locks, err := distlock.New(consullock.New(c, &consullock.Options{MinTTL: minTTL, Node: node}),
		append([]distlock.Option{distlock.WithLockDelay(0)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeBound)
		defer cancel()
		_ = locks.Close(ctx) // an error says only that the server is gone
	})
	return locks
}

func consulLocks(t testing.TB, addr string, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	return consulLocksOn(t, consulAt(t, addr), opts...)
}

// consulEntry returns what the store has of the lock of key; nil is nothing.
func consulEntry(t testing.TB, c *api.Client, key string) *api.KVPair {
	t.Helper()
	q := api.QueryOptions{RequireConsistent: true}
	entry, _, err := c.KV().Get(consullock.DefaultPrefix+key, q.WithContext(within(t, bound)))
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

// consulRoles waits until all members have a leader, and returns it and the others.
func consulRoles(t testing.TB, e *servers.Ensemble) (leader *servers.Member, others []*servers.Member) {
	t.Helper()
	eventually(t, bound, "a leader", func() bool {
		leader, others = nil, nil
		for _, m := range e.Members {
			if leads, err := consulLeads(t, m.Addr()); err != nil {
				return false
			} else if consulServes(m) != nil {
				return false
			} else if leads {
				leader = m
			} else {
				others = append(others, m)
			}
		}
		return len(others) == 2
	})
	return leader, others
}

// consulLeads reports whether the member at addr thinks that it leads.
func consulLeads(t testing.TB, addr string) (bool, error) {
	var self map[string]map[string]any
	q := new(api.QueryOptions).WithContext(within(t, time.Second))
	if _, err := consulAt(t, addr).Raw().Query("/v1/agent/self", &self, q); err != nil {
		return false, err
	}
	consul, _ := self["Stats"]["consul"].(map[string]any)
	return fmt.Sprint(consul["leader"]) == "true", nil
}

// consulServes returns nil if m has a leader that answers it, and knows its own node.
func consulServes(m *servers.Member) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return servers.Consul.Ready(ctx, m.Addr())
}
