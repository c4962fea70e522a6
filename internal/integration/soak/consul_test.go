package soak_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/distlock-go/distlock/internal/integration/servers"
	"github.com/hashicorp/consul/api"
)

func startConsul(t *testing.T) service {
	return ofEnsemble(servers.Start(t, servers.ConsulTrio), func(addrs []string) leftFunc { return leftInConsul(t, addrs) })
}

// connectConsul asks one agent, each worker another.
func connectConsul(n network) (distlock.Backend, func() error) {
	c, closeClient := consulClient(n.Addrs[n.Index%len(n.Addrs)])
	minTTL, err := time.ParseDuration(servers.ConsulMinTTL)
	if err != nil {
		panic(err) // a constant
	}
	return consullock.New(c, &consullock.Options{MinTTL: minTTL}), closeClient
}

func consulClient(addr string) (*api.Client, func() error) {
	config := api.DefaultConfig()
	config.Address = addr
	c, err := api.NewClient(config)
	if err != nil {
		panic(err) // it connects later: only the configuration can be wrong
	}
	return c, func() error {
		config.Transport.CloseIdleConnections()
		return nil
	}
}

// leftInConsul tells the entries and the sessions.
func leftInConsul(t *testing.T, addrs []string) leftFunc {
	c, closeClient := consulClient(addrs[0])
	t.Cleanup(func() { _ = closeClient() })
	return func(ctx context.Context) (left []string, _ error) {
		q := (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx)
		left, _, err := c.KV().Keys(consullock.DefaultPrefix, "", q)
		if err != nil {
			return nil, err
		}
		sessions, _, err := c.Session().List(q)
		for _, s := range sessions {
			left = append(left, "session "+s.ID)
		}
		return left, err
	}
}
