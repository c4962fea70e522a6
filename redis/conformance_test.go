package redis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/locktest"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

func TestConformance(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			addrs := addresses(t, s.env)
			dial := func(t testing.TB, set func(*goredis.UniversalOptions)) goredis.UniversalClient {
				rdb := s.dial(addrs, set)
				t.Cleanup(func() { rdb.Close() })
				return rdb
			}
			locktest.Run(t, harness(t, dial, s.name))
		})
	}
}

type dialer func(testing.TB, func(*goredis.UniversalOptions)) goredis.UniversalClient

func plain(*goredis.UniversalOptions) {}

// harness describes the server that dial reaches. Every run has a prefix of
// its own.
func harness(t *testing.T, dial dialer, name string) locktest.Harness {
	admin := dial(t, plain)
	prefix := "conformance-" + strings.ReplaceAll(name, " ", "-") + ":"
	opts := &redislock.Options{Prefix: prefix}
	h := locktest.Harness{
		TTL:       time.Second,
		Parallel:  8, // two cores have this and the servers to run
		LockDelay: 300 * time.Millisecond,
		Backend:   func(t testing.TB) distlock.Backend { return redislock.New(dial(t, plain), opts) },
		Delete: func(ctx context.Context, key string) error {
			return admin.Del(ctx, prefix+"{"+escaped(key)+"}").Err()
		},
		DeleteCounter: func(ctx context.Context, key string) error {
			return admin.Del(ctx, prefix+"{"+escaped(key)+"}:token").Err()
		},
		Foreign: func(ctx context.Context, key string) error {
			return admin.Set(ctx, prefix+"{"+escaped(key)+"}", "somebody else's", time.Hour).Err()
		},
		Residue: func(ctx context.Context, key string) (int, error) {
			n, err := admin.Exists(ctx, prefix+"{"+escaped(key)+"}").Result()
			return int(n), err
		},
		Sessions: func(ctx context.Context) (int, error) {
			channels, err := admin.PubSubChannels(ctx, prefix+"*").Result()
			return len(channels), err
		},
		Link: func(t testing.TB) (distlock.Backend, locktest.Link) {
			var p *locktest.Proxy
			rdb := dial(t, func(o *goredis.UniversalOptions) {
				p = locktest.NewProxy(t, o.Addrs[0])
				o.Addrs = []string{p.Addr()}
			})
			return redislock.New(rdb, opts), p
		},
		Without: map[string]string{"Restart": "the server is shared; restarts are in the fault suite"},
	}
	if name == "cluster" || name == "sentinel" {
		h.Link = nil
		if name == "cluster" {
			h.Without["inspect-waiters"] = "clients listen on any node"
		}
		h.Without["Link"] = "the client is told the servers' own addresses, around a proxy; cuts are in the fault suite"
	}
	return h
}

// escaped is the documented escape of braces in keys.
func escaped(key string) string {
	return strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(key)
}
