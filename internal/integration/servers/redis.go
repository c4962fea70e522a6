package servers

import (
	"context"
	"strconv"
)

// Servers of the Redis family. They keep data in memory only and come back empty
// when started again, unless made [Durable].
var (
	// Redis has DELEX and SET IFEQ.
	Redis = redisSpec("redis:8.6", "redis:8.6", "redis-server")
	// RedisNoDelex has neither: the path over scripts.
	RedisNoDelex = redisSpec("redis:8.0", "redis:8.0", "redis-server")
	// Valkey81 has SET IFEQ, but no DELIFEQ.
	Valkey81 = redisSpec("valkey:8.1", "valkey/valkey:8.1", "valkey-server")
	// Valkey91 has DELIFEQ.
	Valkey91 = redisSpec("valkey:9.1", "valkey/valkey:9.1", "valkey-server")
)

// redisEntries are what tests of the Redis family's backends are run against.
var redisEntries = []Entry{
	{Name: "redis", Env: "DISTLOCK_TEST_REDIS", Launch: launch[*Server](Redis)},
	{Name: "redis-nodelex", Env: "DISTLOCK_TEST_REDIS_NODELEX", Launch: launch[*Server](RedisNoDelex)},
	{Name: "valkey81", Env: "DISTLOCK_TEST_VALKEY81", Launch: launch[*Server](Valkey81)},
	{Name: "valkey91", Env: "DISTLOCK_TEST_VALKEY91", Launch: launch[*Server](Valkey91)},
	{Name: "redis-cluster", Env: "DISTLOCK_TEST_REDIS_CLUSTER", Launch: launch[*Cluster](ClusterSpec{Of: Redis})},
	{Name: "redis-sentinel", Env: "DISTLOCK_TEST_REDIS_SENTINEL", Launch: launch[*Sentinel](SentinelSpec{Of: Redis})},
	{Name: "redlock", Env: "DISTLOCK_TEST_REDLOCK", Launch: launch[*Masters](MastersSpec{Of: Redis, Count: 5})},
}

func redisSpec(local, official, binary string) Spec {
	return Spec{
		Name:  local,
		Image: Image{Local: local, Official: official},
		Command: func(ports []int) []string {
			return []string{
				binary, "--port", strconv.Itoa(ports[0]), "--bind", host, "--protected-mode", "no",
				"--save", "", "--appendonly", "no",
			}
		},
		Ready: redisReady,
	}
}

// Durable returns a Redis or Valkey that writes every change to disk before it
// replies, so that it has all its data when started again, even after a Kill.
func Durable(s Spec) Spec {
	return s.named("%s durable", s.Name).WithArgs("--appendonly", "yes", "--appendfsync", "always")
}

func redisReady(ctx context.Context, addr string) error {
	_, err := command(ctx, addr, "PING") // an error while it still loads its data
	return err
}
