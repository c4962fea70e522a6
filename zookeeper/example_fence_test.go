package zookeeper_test

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

// Keep late holders away from a node in ZooKeeper, whatever service has the locks.
func ExampleFence() {
	ctx := context.Background()
	conn, _, err := zk.Connect([]string{"zk-1:2181", "zk-2:2181", "zk-3:2181"}, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client, err := distlock.New(memory.New()) // or any other
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	fence := zklock.NewFence(conn, zklock.FenceOptions{Source: "memory"})
	err = distlock.Do(ctx, client, "account-7", func(ctx context.Context, lease *distlock.Lease) error {
		if err := fence.Advance(ctx, "account-7", lease.Token()); err != nil { // before the first read
			return err
		}
		if _, err := conn.Sync("/accounts/7"); err != nil {
			return err
		}
		balance, stat, err := conn.Get("/accounts/7")
		if err != nil {
			return err
		}
		_, err = fence.Multi(ctx, "account-7", lease.Token(),
			&zk.SetDataRequest{Path: "/accounts/7", Data: append(balance, "-30"...), Version: stat.Version})
		return err
	})
	if errors.Is(err, distlock.ErrStale) {
		log.Print("came too late; somebody else has the account now")
	}
}
