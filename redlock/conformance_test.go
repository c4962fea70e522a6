package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/locktest"
	"github.com/distlock-go/distlock/redlock"
	goredis "github.com/redis/go-redis/v9"
)

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name string
		opts redlock.Options
	}{
		{"plain", redlock.Options{}},
		{"fenced", redlock.Options{Fenced: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opts.Prefix = "conformance-" + c.name + ":"
			locktest.Run(t, harness(t, addresses(t), &c.opts))
		})
	}
}

// conformanceTimeout is longer than the default: two cores run the cases side
// by side, five servers and the race detector.
const conformanceTimeout = 5 * time.Second

// harness describes the nodes at addrs. What it does behind the library's back
// it does on all of them.
func harness(t *testing.T, addrs []string, o *redlock.Options) locktest.Harness {
	o.NodeTimeout = conformanceTimeout
	admin := dial(t, addrs)
	lock := func(key string) string { return o.Prefix + "{" + escaped(key) + "}" }
	each := func(f func(goredis.UniversalClient) error) error {
		var all error
		for _, c := range admin {
			all = errors.Join(all, f(c))
		}
		return all
	}
	h := locktest.Harness{
		TTL:       2 * time.Second, // two cores have this and five servers to run
		Parallel:  4,
		LockDelay: 300 * time.Millisecond,
		Backend:   func(t testing.TB) distlock.Backend { return redlock.New(dial(t, addrs), o) },
		Delete: func(ctx context.Context, key string) error {
			return each(func(c goredis.UniversalClient) error { return c.Del(ctx, lock(key)).Err() })
		},
		Foreign: func(ctx context.Context, key string) error {
			return each(func(c goredis.UniversalClient) error {
				return c.Set(ctx, lock(key), "somebody else's", time.Hour).Err()
			})
		},
		Residue: func(ctx context.Context, key string) (n int, err error) {
			err = each(func(c goredis.UniversalClient) error {
				found, err := c.Exists(ctx, lock(key)).Result()
				n = max(n, int(found)) // what one node has alone counts too
				return err
			})
			return n, err
		},
		Sessions: func(ctx context.Context) (n int, err error) {
			err = each(func(c goredis.UniversalClient) error {
				channels, err := c.PubSubChannels(ctx, o.Prefix+"*").Result()
				n += len(channels)
				return err
			})
			return n, err
		},
		Link: func(t testing.TB) (distlock.Backend, locktest.Link) {
			var all links
			var behind []string
			for _, a := range addrs {
				p := locktest.NewProxy(t, a)
				all, behind = append(all, p), append(behind, p.Addr())
			}
			return redlock.New(dial(t, behind), o), all
		},
		DeleteCounter: func(ctx context.Context, key string) error {
			return each(func(c goredis.UniversalClient) error { return c.Del(ctx, lock(key)+":token").Err() })
		},
		Without: map[string]string{"Restart": "the servers are shared; restarts are in the fault suite"},
	}
	return h
}

// links are the networks to all nodes, which fail together.
type links []*locktest.Proxy

func (l links) Swallow() { l.each((*locktest.Proxy).Swallow) }

func (l links) SwallowReplies() { l.each((*locktest.Proxy).SwallowReplies) }

func (l links) Restore() { l.each((*locktest.Proxy).Restore) }

func (l links) Reset() { l.each((*locktest.Proxy).Reset) }

func (l links) each(f func(*locktest.Proxy)) {
	for _, p := range l {
		f(p)
	}
}

// escaped is the documented escape of braces in keys.
func escaped(key string) string {
	return strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(key)
}
