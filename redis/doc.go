// Package redis takes locks on one Redis or Valkey service: a single server,
// one behind Sentinel, or a Cluster. Import it as redislock:
//
//	import redislock "github.com/distlock-go/distlock/redis"
//
//	client, err := distlock.New(redislock.New(rdb, nil))
package redis
