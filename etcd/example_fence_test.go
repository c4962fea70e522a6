package etcd_test

import (
	"context"
	"errors"
	"log"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/memory"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Keep late holders away from a value in etcd, whatever service has the locks.
func ExampleFence() {
	ctx := context.Background()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{"localhost:2379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer cli.Close()
	client, err := distlock.New(memory.New()) // or any other
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	fence := etcdlock.NewFence(cli, etcdlock.FenceOptions{Source: "memory"})
	err = distlock.Do(ctx, client, "limit", func(ctx context.Context, lease *distlock.Lease) error {
		if err := fence.Advance(ctx, "limit", lease.Token()); err != nil { // before the first read
			return err
		}
		resp, err := cli.Get(ctx, "config/limit")
		if err != nil {
			return err
		}
		next := "1"
		for _, kv := range resp.Kvs {
			next = string(kv.Value) + "0"
		}
		_, err = fence.Txn(ctx, "limit", lease.Token(), clientv3.OpPut("config/limit", next))
		return err
	})
	if errors.Is(err, distlock.ErrStale) {
		log.Print("came too late; somebody else has it now")
	}
}
