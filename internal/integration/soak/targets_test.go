package soak_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// A target is a backend and the servers that it is tried on.
type target struct {
	name    string
	ttl     time.Duration
	options []distlock.Option // of its clients, besides the TTL
	// early is why a grant can come before another lease's deadline, where the
	// documentation says that it can when servers fail one at a time.
	early string
	// start starts the servers. It runs in the parent.
	start func(t *testing.T) service
	// connect returns the backend, and what closes the client beneath it. It runs in
	// the workers, and at the end in the parent.
	connect func(n network) (distlock.Backend, func() error)
}

// locks returns a client over n, and what closes it and the one beneath.
func (tg target) locks(n network) (*distlock.Client, func(context.Context) error, error) {
	b, closeClient := tg.connect(n)
	locks, err := distlock.New(b, append(tg.options, distlock.WithTTL(tg.ttl))...)
	if err != nil {
		return nil, nil, err
	}
	return locks, func(ctx context.Context) error {
		err := locks.Close(ctx)
		if cerr := closeClient(); err == nil {
			err = cerr
		}
		return err
	}, nil
}

// A service is a target's servers that run.
type service struct {
	addrs []string
	// nodes are killed and frozen, one at a time.
	nodes []*servers.Server
	// members are cut off from their peers, one at a time. May be nil.
	members []*servers.Member
	// left names what the service has of locks that nobody holds, such as keys,
	// sessions and subscriptions. Counters that stay by design are not told.
	left func(ctx context.Context) ([]string, error)
}

// A network is how a client reaches a service.
type network struct {
	// Index tells the clients apart that are to be connected to different servers.
	Index int
	// Servers are the service's addresses, and Addrs those that lead there, in the same
	// order: of proxies, or the same.
	Servers, Addrs []string
}

// via returns the address that leads to the server at addr.
func (n network) via(addr string) string {
	for i, s := range n.Servers {
		if s == addr {
			return n.Addrs[i]
		}
	}
	return addr
}

// targets are all that are tried.
var targets = []target{
	{
		name: "redis", ttl: time.Second,
		start: startRedis(servers.Durable(servers.Redis)), connect: connectRedis,
	},
	{
		name: "redis without a disk", ttl: time.Second, early: "a restart forgets what was granted",
		start: startRedis(servers.Redis), connect: connectRedis,
	},
	{
		name: "redis failover", ttl: time.Second, early: "a failover forgets what the replica had not got",
		start: startSentinel, connect: connectSentinel,
	},
	{name: "redlock", ttl: time.Second, start: startRedlock, connect: connectRedlock},
	{name: "etcd", ttl: 2 * time.Second, start: startEtcd, connect: connectEtcd},
	{name: "etcd trio", ttl: 2 * time.Second, start: startEtcdTrio, connect: connectEtcd},
	{name: "zookeeper trio", ttl: 2 * time.Second, start: startZooKeeper, connect: connectZooKeeper},
	{
		name: "consul trio", ttl: time.Second, options: []distlock.Option{distlock.WithLockDelay(0)},
		start: startConsul, connect: connectConsul,
	},
	{
		name: "postgres", ttl: time.Second, early: "a restart frees all advisory locks",
		start: startPostgres, connect: connectPostgres,
	},
	{ // which keeps the next holder out after a restart
		name: "postgres with a lock-delay", ttl: time.Second, options: []distlock.Option{distlock.WithLockDelay(time.Second)},
		start: startPostgres, connect: connectPostgres,
	},
}

// side is how many targets run side by side.
const side = 2

var turn = make(chan struct{}, side)

// forEach runs a test for each target.
func forEach(t *testing.T, test func(t *testing.T, tg target, s service)) {
	for _, tg := range targets {
		t.Run(tg.name, func(t *testing.T) {
			t.Parallel()
			turn <- struct{}{}
			t.Cleanup(func() { <-turn }) // after the servers' own
			test(t, tg, tg.start(t))
		})
	}
}
