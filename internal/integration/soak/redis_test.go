package soak_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	redislock "github.com/distlock-go/distlock/redis"
	"github.com/distlock-go/distlock/redlock"
	goredis "github.com/redis/go-redis/v9"
)

func init() { goredis.SetLogger(silent{}) } // it logs each connection that fails

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func startRedis(spec servers.Spec) func(*testing.T) service {
	return func(t *testing.T) service {
		s := servers.Start(t, spec)
		return service{addrs: s.Addrs(), nodes: []*servers.Server{s}, left: leftInRedis(t, s.Addr())}
	}
}

func connectRedis(n network) (distlock.Backend, func() error) {
	rdb := goredis.NewClient(&goredis.Options{Addr: n.Addrs[0]})
	return redislock.New(rdb, nil), rdb.Close
}

// startSentinel starts a primary and a replica between which sentinels fail over.
func startSentinel(t *testing.T) service {
	z := servers.Start(t, servers.SentinelSpec{Of: servers.Durable(servers.Redis)})
	data := append([]*servers.Server{z.Primary}, z.Replicas...)
	var addrs []string
	for _, s := range append(data, z.Sentinels...) {
		addrs = append(addrs, s.Addr())
	}
	var left []func(context.Context) ([]string, error)
	for _, s := range data {
		left = append(left, leftInRedis(t, s.Addr()))
	}
	return service{addrs: addrs, nodes: data, left: leftInAll(left)}
}

// connectSentinel knows the sentinels, which are the last three servers, and reaches all
// that they name.
func connectSentinel(n network) (distlock.Backend, func() error) {
	rdb := goredis.NewFailoverClient(&goredis.FailoverOptions{
		MasterName: servers.SentinelMaster, SentinelAddrs: n.Servers[len(n.Servers)-3:],
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, n.via(addr))
		},
	})
	return redislock.New(rdb, nil), rdb.Close
}

func startRedlock(t *testing.T) service {
	m := servers.Start(t, servers.MastersSpec{Of: servers.Durable(servers.Redis), Count: 3})
	var left []func(context.Context) ([]string, error)
	for _, s := range m.Nodes {
		left = append(left, leftInRedis(t, s.Addr()))
	}
	return service{addrs: m.Addrs(), nodes: m.Nodes, left: leftInAll(left)}
}

func connectRedlock(n network) (distlock.Backend, func() error) {
	var all []goredis.UniversalClient
	for _, addr := range n.Addrs {
		all = append(all, goredis.NewClient(&goredis.Options{Addr: addr}))
	}
	return redlock.New(all, &redlock.Options{Fenced: true, NodeTimeout: 500 * time.Millisecond}), func() (err error) {
		for _, c := range all {
			if cerr := c.Close(); err == nil {
				err = cerr
			}
		}
		return err
	}
}

// leftInRedis tells the keys and channels of the server at addr, without its counters.
func leftInRedis(t *testing.T, addr string) func(context.Context) ([]string, error) {
	rdb := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() { rdb.Close() })
	return func(ctx context.Context) ([]string, error) {
		keys, err := rdb.Keys(ctx, "*{*").Result()
		if err != nil {
			return nil, err
		}
		channels, err := rdb.PubSubChannels(ctx, "*{*").Result() // and not those of sentinels
		isCounter := func(key string) bool { return strings.HasSuffix(key, ":token") }
		return append(slices.DeleteFunc(keys, isCounter), channels...), err
	}
}

// leftInAll tells what all of them tell.
func leftInAll(all []func(context.Context) ([]string, error)) func(context.Context) ([]string, error) {
	return func(ctx context.Context) (sum []string, _ error) {
		for _, left := range all {
			names, err := left(ctx)
			if err != nil {
				return nil, err
			}
			sum = append(sum, names...)
		}
		return sum, nil
	}
}
