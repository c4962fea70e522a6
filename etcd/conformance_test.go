package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/locktest"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestConformance(t *testing.T) {
	t.Run("single", func(t *testing.T) { locktest.Run(t, harness(t, endpoints(t, singleEnv))) })
	t.Run("trio", func(t *testing.T) {
		h := harness(t, endpoints(t, trioEnv))
		h.TTL = 4 * time.Second // three members share the cores and the disk
		h.Expiry = h.TTL + 2*time.Second
		h.Parallel = 4
		locktest.Run(t, h)
	})
}

// harness describes the cluster at addrs.
func harness(t *testing.T, addrs []string) locktest.Harness {
	at := func(addrs ...string) func(*clientv3.Config) {
		return func(c *clientv3.Config) { c.Endpoints = addrs }
	}
	admin := dial(t, at(addrs...))
	opts := newSpace(t).options()
	directory := func(key string) string { return opts.Prefix + etcdlock.Escape(key) + "/" }
	return locktest.Harness{
		TTL:       3 * time.Second, // the least is met by two late renewals on a busy machine
		Expiry:    4500 * time.Millisecond,
		LockDelay: 2 * time.Second, // the shortest lease, which keeps the place of a lock that was broken
		Backend:   func(t testing.TB) distlock.Backend { return etcdlock.New(dial(t, at(addrs...)), opts) },
		Delete: func(ctx context.Context, key string) error {
			_, err := admin.Delete(ctx, directory(key), clientv3.WithPrefix())
			return err
		},
		DeleteCounter: func(context.Context, string) error { return nil }, // there is none
		Foreign: func(ctx context.Context, key string) error {
			lease, err := admin.Grant(ctx, 60)
			if err != nil {
				return err
			}
			_, err = admin.Put(ctx, directory(key)+"1", "of etcdctl lock", clientv3.WithLease(lease.ID))
			return err
		},
		Expel: func(ctx context.Context, key string) error {
			first := append(clientv3.WithFirstCreate(), clientv3.WithPrefix())
			resp, err := admin.Get(ctx, directory(key), first...)
			if err != nil {
				return err
			}
			if len(resp.Kvs) == 0 {
				return errors.New("nobody holds the key")
			}
			_, err = admin.Revoke(ctx, clientv3.LeaseID(resp.Kvs[0].Lease))
			return err
		},
		Residue: func(ctx context.Context, key string) (int, error) {
			resp, err := admin.Get(ctx, directory(key), clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil {
				return 0, err
			}
			return int(resp.Count), nil
		},
		Sessions: func(ctx context.Context) (int, error) {
			resp, err := admin.Leases(ctx)
			if err != nil {
				return 0, err
			}
			return len(resp.Leases), nil
		},
		Link: func(t testing.TB) (distlock.Backend, locktest.Link) {
			p := locktest.NewProxy(t, addrs[0])
			return etcdlock.New(dial(t, at(p.Addr())), opts), p
		},
		Reconnect: 2 * time.Second,
		Parallel:  8, // each attempt is a write to the log, refused ones too
		Without:   map[string]string{"Restart": "the servers are shared; restarts are in the fault suite"},
	}
}
