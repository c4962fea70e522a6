package soak_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// A target is a backend and the servers that it is tried on.
type target struct {
	name string
	ttl  time.Duration
	// start starts the servers. It runs in the parent.
	start func(t *testing.T) service
	// connect returns the backend, and what closes the client beneath it. It runs in
	// the workers, each with addresses of its own that lead to the servers'.
	connect func(addrs []string) (distlock.Backend, func() error)
}

// A service is a target's servers that run.
type service struct {
	addrs []string
	// nodes are killed and started again, one at a time.
	nodes []*servers.Server
	// keeps says that no restart lets the service forget or free a lock before its time.
	keeps bool
	// left names what the service has of locks that nobody holds, such as keys and
	// subscriptions. Counters that stay by design are not told.
	left func(ctx context.Context) ([]string, error)
}

// targets are all that are tried, side by side.
var targets = []target{
	{"redis", time.Second, startRedis(servers.Durable(servers.Redis), true), connectRedis},
	{"redis without a disk", time.Second, startRedis(servers.Redis, false), connectRedis},
}

func startRedis(spec servers.Spec, keeps bool) func(*testing.T) service {
	return func(t *testing.T) service {
		s := servers.Start(t, spec)
		rdb := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
		t.Cleanup(func() { rdb.Close() })
		return service{
			addrs: s.Addrs(),
			nodes: []*servers.Server{s},
			keeps: keeps,
			left: func(ctx context.Context) ([]string, error) {
				keys, err := rdb.Keys(ctx, "*").Result()
				if err != nil {
					return nil, err
				}
				channels, err := rdb.PubSubChannels(ctx, "*").Result()
				isCounter := func(key string) bool { return strings.HasSuffix(key, ":token") }
				return append(slices.DeleteFunc(keys, isCounter), channels...), err
			},
		}
	}
}

func connectRedis(addrs []string) (distlock.Backend, func() error) {
	rdb := goredis.NewClient(&goredis.Options{Addr: addrs[0]})
	return redislock.New(rdb, nil), rdb.Close
}
