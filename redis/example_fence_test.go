package redis_test

import (
	"context"
	"errors"
	"log"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// Keep late holders away from a value in Redis.
func ExampleFence() {
	ctx := context.Background()
	rdb := goredis.NewClient(&goredis.Options{Addr: "localhost:6379"})
	defer rdb.Close()
	client, err := distlock.New(redislock.New(rdb, nil))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	fence := redislock.NewFence(rdb, redislock.FenceOptions{Source: "redis-eu"})
	err = distlock.Do(ctx, client, "account-7", func(ctx context.Context, lease *distlock.Lease) error {
		if err := fence.Advance(ctx, "balance:7", lease.Token()); err != nil { // before the first read
			return err
		}
		balance, err := rdb.Get(ctx, "balance:7").Int()
		if err != nil {
			return err
		}
		return fence.Set(ctx, "balance:7", lease.Token(), balance-30)
	})
	if errors.Is(err, distlock.ErrStale) {
		log.Print("came too late; somebody else has the account now")
	}
}

// Run a script of one's own behind the fence.
func ExampleFence_Eval() {
	ctx := context.Background()
	rdb := goredis.NewClient(&goredis.Options{Addr: "localhost:6379"})
	defer rdb.Close()

	fence := redislock.NewFence(rdb, redislock.FenceOptions{Source: "etcd-eu"})
	debit := redislock.NewScript(`return redis.call('DECRBY', KEYS[1], ARGV[1])`)
	var token distlock.Token = 41 // of the lease
	left, err := fence.Eval(ctx, token, debit, []string{"balance:7"}, 30)
	if err != nil {
		log.Fatal(err)
	}
	log.Print(left)
}
