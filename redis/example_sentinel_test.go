package redis_test

import (
	"context"
	"log"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// Use servers behind Sentinel, and check at start-up that they can be used. A
// failover may lose the last grants: see the package's documentation.
func ExampleNew_sentinel() {
	ctx := context.Background()
	rdb := goredis.NewFailoverClient(&goredis.FailoverOptions{
		MasterName:    "locks",
		SentinelAddrs: []string{"sentinel-1:26379", "sentinel-2:26379", "sentinel-3:26379"},
	})
	defer rdb.Close()

	client, err := distlock.New(redislock.New(rdb, nil))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	if err := client.Ping(ctx); err != nil {
		log.Fatal(err)
	}
}
