package consul_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/distlock-go/distlock/locktest"
	"github.com/hashicorp/consul/api"
)

func TestConformance(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) { locktest.Run(t, harness(t, addresses(t, s.env))) })
	}
}

// prompt is a Backend without lock-delay unless one is asked for: the suite
// does not wait 15 s for each crashed holder.
type prompt struct{ *consullock.Backend }

func (p prompt) Check(t distlock.Terms) (distlock.Terms, error) {
	if t.LockDelay == distlock.UnsetLockDelay {
		t.LockDelay = 0
	}
	return p.Backend.Check(t)
}

// harness describes the servers at addrs, each of which has an agent's
// interface. Backends go to one after the other.
func harness(t *testing.T, addrs []string) locktest.Harness {
	admin, opts := dial(t, addrs[0]), options()
	next := make(chan string, len(addrs))
	for _, a := range addrs {
		next <- a
	}
	turn := func() string {
		a := <-next
		next <- a
		return a
	}
	const ttl = 2 * time.Second
	return locktest.Harness{
		TTL:       ttl,
		Expiry:    2*ttl + ttl/2, // the servers keep a session for twice its TTL
		LockDelay: 500 * time.Millisecond,
		Parallel:  4, // two cores have this and the servers to run
		Backend: func(t testing.TB) distlock.Backend {
			return prompt{consullock.New(dial(t, turn()), opts)}
		},
		Delete: func(ctx context.Context, key string) error {
			_, err := admin.KV().Delete(opts.Prefix+key, new(api.WriteOptions).WithContext(ctx))
			return err
		},
		Expel: func(ctx context.Context, key string) error {
			entry, err := get(ctx, admin, opts.Prefix+key)
			if err != nil || entry == nil {
				return err
			}
			_, err = admin.Session().Destroy(entry.Session, new(api.WriteOptions).WithContext(ctx))
			return err
		},
		Foreign: func(ctx context.Context, key string) error {
			_, err := admin.KV().Put(&api.KVPair{Key: opts.Prefix + key, Value: []byte("not a lock")}, new(api.WriteOptions).WithContext(ctx))
			return err
		},
		Residue: func(ctx context.Context, key string) (int, error) {
			entry, err := get(ctx, admin, opts.Prefix+key)
			if err != nil || entry == nil {
				return 0, err
			}
			return 1, nil
		},
		Sessions: func(ctx context.Context) (int, error) {
			all, _, err := admin.Session().List(new(api.QueryOptions).WithContext(ctx))
			return len(all), err
		},
		Link: func(t testing.TB) (distlock.Backend, locktest.Link) {
			p := locktest.NewProxy(t, turn())
			return prompt{consullock.New(dial(t, p.Addr()), opts)}, p
		},
		Without: map[string]string{
			"inspect-waiters": "an entry tells nothing of who wants it",
			"DeleteCounter":   "tokens are indexes of the store's log, which counts for all keys",
			"Restart":         "the server is shared; restarts are in the fault suite",
		},
	}
}

func get(ctx context.Context, c *api.Client, name string) (*api.KVPair, error) {
	q := api.QueryOptions{RequireConsistent: true}
	entry, _, err := c.KV().Get(name, q.WithContext(ctx))
	return entry, err
}
