package main

import (
	"context"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	etcdlock "github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/memory"
	pglock "github.com/distlock-go/distlock/postgres"
	redislock "github.com/distlock-go/distlock/redis"
	"github.com/distlock-go/distlock/redlock"
	zklock "github.com/distlock-go/distlock/zookeeper"
	goredis "github.com/redis/go-redis/v9"
)

// rivals are all that are compared, distlock first on each service.
var rivals = []rival{
	{service: "memory", name: "distlock", open: openMemory},
	{service: "redis", name: "distlock", open: openRedis},
	{
		service: "redis", name: "redsync", module: "github.com/go-redsync/redsync/v4", open: openRedsync,
		terms: "expiry 8 s, tries 32 times, 50 to 250 ms apart; no renewal by itself",
	},
	{
		service: "redis", name: "bsm/redislock", module: "github.com/bsm/redislock", open: openBSM,
		terms: "TTL 30 s, LinearBackoff(100ms), as it does not wait otherwise; no renewal by itself",
	},
	{
		service: "redis", name: "rueidislock", module: "github.com/redis/rueidis", open: openRueidis,
		terms: "KeyMajority 1 and NoLoopTracking, as its documentation has it for one server; validity 5 s, extended every 2.5 s; 20 ms for an attempt",
	},
	{service: "redlock", name: "distlock", open: openRedlock},
	{
		service: "redlock", name: "redsync, 5 nodes", module: "github.com/go-redsync/redsync/v4", open: openRedsync,
		terms: "as with one; 5 % of the expiry for each node's answer",
	},
	{service: "etcd", name: "distlock", open: openEtcd},
	{
		service: "etcd", name: "Mutex, session shared", module: "go.etcd.io/etcd/client/v3", open: openMutex,
		terms: "concurrency.Mutex, one session a process; TTL 60 s. Two goroutines on one session both get a key",
	},
	{
		service: "etcd", name: "Mutex, session each", module: "go.etcd.io/etcd/client/v3", open: openMutexes,
		terms: "concurrency.Mutex, a session for each lock; TTL 60 s",
	},
	{service: "zookeeper", name: "distlock", open: openZooKeeper},
	{
		service: "zookeeper", name: "zk.Lock", module: "github.com/go-zookeeper/zk", open: openZKLock,
		terms: "one connection a process, session time-out 10 s; a wait cannot be ended",
	},
	{service: "consul", name: "distlock", open: openConsul},
	{
		service: "consul", name: "api.Lock, session shared", module: "github.com/hashicorp/consul/api", open: openAPILock,
		terms: "one session a process, TTL 15 s, lock-delay 15 s. Two goroutines on one session both get a key",
	},
	{
		service: "consul", name: "api.Lock, session each", module: "github.com/hashicorp/consul/api", open: openAPILocks,
		terms: "its default: a session for each lock, TTL 15 s, lock-delay 15 s",
	},
	{service: "postgres", name: "distlock", open: openPostgres},
	{
		service: "postgres", name: "pglock", module: "cirello.io/pglock", open: openPGLock, slow: true,
		terms: "on lib/pq; lease 20 s, heartbeat 5 s; a waiter asks again after a lease. A row that its release has left is deleted by hand",
	},
}

// client makes a contender of a client of distlock. free ends what was made for it.
func client(b distlock.Backend, ttl time.Duration, free func(), opts ...distlock.Option) (*contender, error) {
	one := &contender{}
	if ttl != 0 {
		opts = append(opts, distlock.WithTTL(ttl))
	}
	opts = append(opts, distlock.WithTrace(&distlock.Trace{
		Renewed: func(i distlock.RenewInfo) {
			if i.Err == nil {
				one.renewed.Add(1)
			}
		},
		Lost: func(distlock.LostInfo) { one.lost.Add(1) },
	}))
	c, err := distlock.New(b, opts...)
	if err != nil {
		free()
		return nil, err
	}
	one.lock = func(ctx context.Context, key string) (distlock.Token, func(context.Context) error, error) {
		l, err := c.Acquire(ctx, key)
		if err != nil {
			return 0, nil, err
		}
		return l.Token(), l.Release, nil
	}
	one.close = func() {
		_ = c.Close(context.Background()) // what is held goes with it
		free()
	}
	return one, nil
}

// inMemory is what all processes share.
var inMemory = memory.New()

func openMemory(_ context.Context, _ string, ttl time.Duration) (*contender, error) {
	return client(inMemory, ttl, func() {})
}

func openRedis(_ context.Context, addr string, ttl time.Duration) (*contender, error) {
	rdb := goredis.NewClient(&goredis.Options{Addr: addr, PoolSize: poolSize})
	return client(redislock.New(rdb, nil), ttl, func() { rdb.Close() })
}

// openRedlock is for servers with commas between.
func openRedlock(_ context.Context, addrs string, ttl time.Duration) (*contender, error) {
	nodes := dialNodes(strings.Split(addrs, ","))
	return client(redlock.New(nodes, &redlock.Options{NodeTimeout: benchTimeout}), ttl, func() { closeNodes(nodes) })
}

func openEtcd(_ context.Context, addr string, ttl time.Duration) (*contender, error) {
	cli, err := dialEtcd(addr)
	if err != nil {
		return nil, err
	}
	return client(etcdlock.New(cli, nil), ttl, func() { cli.Close() })
}

func openZooKeeper(_ context.Context, addrs string, ttl time.Duration) (*contender, error) {
	return client(zklock.New(strings.Split(addrs, ","), &zklock.Options{Root: "/bench-rivals"}), ttl, func() {})
}

// consulDelay is the lock-delay of whoever has a TTL given.
const consulDelay = time.Second

// openConsul allows what TTL the servers do.
func openConsul(_ context.Context, addr string, ttl time.Duration) (*contender, error) {
	api, free, err := dialConsul(addr)
	if err != nil {
		return nil, err
	}
	var opts []distlock.Option
	if ttl != 0 {
		opts = append(opts, distlock.WithLockDelay(consulDelay))
	}
	return client(consullock.New(api, &consullock.Options{MinTTL: time.Second}), ttl, free, opts...)
}

func openPostgres(ctx context.Context, url string, ttl time.Duration) (*contender, error) {
	pool, err := dialPG(ctx, url)
	if err != nil {
		return nil, err
	}
	return client(pglock.New(pool, &pglock.Options{CreateTable: true, NoAsyncFailover: true}), ttl, pool.Close)
}
