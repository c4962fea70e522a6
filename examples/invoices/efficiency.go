package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// efficiency is the case with locks and ledger on the Redis at addr, with a unique
// constraint or without one.
func efficiency(addr string) act {
	return func(ctx context.Context, r *round) (close func(), err error) {
		rdb := goredis.NewClient(&goredis.Options{Addr: addr})
		r.title, r.guard = "efficiency, on Redis", "unique constraint"
		r.ledger = &hash{rdb: rdb, name: "invoices:" + rand.Text(), unique: r.guarded}
		r.connect = func() (*distlock.Client, error) {
			return distlock.New(redislock.New(rdb, nil), distlock.WithTTL(ttl))
		}
		return func() { rdb.Close() }, nil
	}
}

// A hash is a ledger in Redis: account to amount. Nothing in it knows of tokens.
type hash struct {
	rdb    *goredis.Client
	name   string
	unique bool // an account is charged once, whoever tries
}

func (h *hash) charged(ctx context.Context, account int, _ *distlock.Lease) (bool, error) {
	return h.rdb.HExists(ctx, h.name, strconv.Itoa(account)).Result()
}

func (h *hash) charge(ctx context.Context, account, amount int, _ *distlock.Lease) (bool, error) {
	if h.unique {
		return h.rdb.HSetNX(ctx, h.name, strconv.Itoa(account), amount).Result()
	}
	return true, h.rdb.HIncrBy(ctx, h.name, strconv.Itoa(account), int64(amount)).Err()
}

func (h *hash) sum(ctx context.Context) (accounts, amount int, err error) {
	all, err := h.rdb.HVals(ctx, h.name).Result()
	for _, text := range all {
		n, bad := strconv.Atoi(text)
		if bad != nil {
			return 0, 0, fmt.Errorf("ledger: %w", bad)
		}
		amount += n
	}
	return len(all), amount, err
}

func (h *hash) drop(ctx context.Context) error { return h.rdb.Del(ctx, h.name).Err() }
