package etcd_test

import (
	"context"
	"errors"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A write to the same etcd cluster that happens only while the lock is held.
func ExampleHeld() {
	write := func(ctx context.Context, cli *clientv3.Client, lease *distlock.Lease, value string) error {
		resp, err := cli.Txn(ctx).
			If(etcdlock.Held(lease)).
			Then(clientv3.OpPut("config/leader", value)).
			Commit()
		if err == nil && !resp.Succeeded {
			err = errors.New("the lock was lost")
		}
		return err
	}
	_ = write
}
