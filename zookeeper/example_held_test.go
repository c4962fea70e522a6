package zookeeper_test

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/distlock-go/distlock"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

// Write to a node in ZooKeeper only while the lock is held: check and write are one step
// on the server, so a request that arrives late changes nothing.
func ExampleHeld() {
	ctx := context.Background()
	servers := []string{"zk-1:2181", "zk-2:2181", "zk-3:2181"}
	client, err := distlock.New(zklock.New(servers, nil))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	conn, _, err := zk.Connect(servers, 10*time.Second) // for the data; any connection will do
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	err = distlock.Do(ctx, client, "account-7", func(_ context.Context, lease *distlock.Lease) error {
		balance, stat, err := conn.Get("/accounts/7")
		if err != nil {
			return err
		}
		_, err = conn.Multi(
			zklock.Held(lease),
			&zk.SetDataRequest{Path: "/accounts/7", Data: append(balance, "-30"...), Version: stat.Version},
		)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		log.Print("came too late; somebody else has the account now")
	}
}
