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
	s := newSpace(t)
	opts := s.options()
	locktest.Run(t, locktest.Harness{
		TTL:       etcdlock.MinTTL,
		Expiry:    etcdlock.MinTTL + 1500*time.Millisecond,
		LockDelay: time.Second,
		Backend:   func(t testing.TB) distlock.Backend { return etcdlock.New(dial(t), opts) },
		Delete: func(ctx context.Context, key string) error {
			_, err := s.admin.Delete(ctx, s.prefix+etcdlock.Escape(key)+"/", clientv3.WithPrefix())
			return err
		},
		DeleteCounter: func(context.Context, string) error { return nil }, // there is none
		Expel: func(ctx context.Context, key string) error {
			first := append(clientv3.WithFirstCreate(), clientv3.WithPrefix())
			resp, err := s.admin.Get(ctx, s.prefix+etcdlock.Escape(key)+"/", first...)
			if err != nil {
				return err
			}
			if len(resp.Kvs) == 0 {
				return errors.New("nobody holds the key")
			}
			_, err = s.admin.Revoke(ctx, clientv3.LeaseID(resp.Kvs[0].Lease))
			return err
		},
		Residue: func(ctx context.Context, key string) (int, error) {
			resp, err := s.admin.Get(ctx, s.prefix+etcdlock.Escape(key)+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil {
				return 0, err
			}
			return int(resp.Count), nil
		},
		Sessions: func(ctx context.Context) (int, error) {
			resp, err := s.admin.Leases(ctx)
			if err != nil {
				return 0, err
			}
			return len(resp.Leases), nil
		},
		Link: func(t testing.TB) (distlock.Backend, locktest.Link) {
			p := locktest.NewProxy(t, endpoints(t)[0])
			cli := dial(t, func(c *clientv3.Config) { c.Endpoints = []string{p.Addr()} })
			return etcdlock.New(cli, opts), p
		},
		Reconnect: 2 * time.Second,
		Parallel:  8, // each attempt is a write to the log, refused ones too
		Without:   map[string]string{"Restart": "the server is shared; restarts are in the fault suite"},
	})
}
