package main

import (
	goredis "github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
	redislock "github.com/distlock-go/distlock/redis"
)

// connect returns the lock service to use, and what to call when done with it:
// the Redis at addr, or this process's memory if addr is empty. It does not
// wait for a connection.
func connect(addr string) (b distlock.Backend, disconnect func() error) {
	if addr == "" {
		return memory.New(), func() error { return nil }
	}
	rdb := goredis.NewClient(&goredis.Options{Addr: addr})
	return redislock.New(rdb, nil), rdb.Close
}
