package redis_test

import (
	"context"
	"log"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// Use a Cluster. Each key lives with its counter in one slot; keys may contain
// braces.
func ExampleNew_cluster() {
	ctx := context.Background()
	rdb := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{"node-1:6379", "node-2:6379"}})
	defer rdb.Close()

	client, err := distlock.New(redislock.New(rdb, &redislock.Options{Prefix: "billing:"}))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
}
