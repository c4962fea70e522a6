package redis_test

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// Run a function under a lock on a single server.
func Example() {
	ctx := context.Background()
	rdb := goredis.NewClient(&goredis.Options{Addr: "localhost:6379"})
	defer rdb.Close()

	client, err := distlock.New(redislock.New(rdb, nil), distlock.WithTTL(30*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	err = distlock.Do(ctx, client, "invoice-77", func(ctx context.Context, lease *distlock.Lease) error {
		return nil // the work; ctx ends when the lease does
	})
	if errors.Is(err, distlock.ErrLost) {
		log.Print("somebody else may have done it too")
	}
}
