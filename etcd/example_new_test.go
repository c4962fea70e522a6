package etcd_test

import (
	"context"
	"log"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Locks on a cluster of three, through a client that drops silent members.
func ExampleNew() {
	cli, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"},
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 2 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer cli.Close()
	client, err := distlock.New(etcdlock.New(cli, nil), distlock.WithTTL(30*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(context.Background())
}
