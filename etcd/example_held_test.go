package etcd_test

import (
	"context"
	"errors"
	"log"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Write to the same cluster only while the lock is held.
func ExampleHeld() {
	ctx := context.Background()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{"localhost:2379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer cli.Close()
	client, err := distlock.New(etcdlock.New(cli, nil))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	err = distlock.Do(ctx, client, "config", func(ctx context.Context, lease *distlock.Lease) error {
		resp, err := cli.Txn(ctx).
			If(etcdlock.Held(lease)).
			Then(clientv3.OpPut("config/limit", "100")).
			Commit()
		if err == nil && !resp.Succeeded {
			err = distlock.ErrLost
		}
		return err
	})
	if errors.Is(err, distlock.ErrLost) {
		log.Print("nothing was written")
	}
}
