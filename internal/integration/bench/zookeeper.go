package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

// zooKeeperEnv names the ZooKeeper servers, as for the tests.
const zooKeeperEnv = "DISTLOCK_TEST_ZOOKEEPER"

// finer is by how much slices are shorter here: what a disk has to do besides comes and
// goes within a slice of the usual length.
const finer = 20

// zooKeeper compares acquire and release on ZooKeeper with the least that a lock can be
// there, an ephemeral node that is created and deleted: without a queue, a token or a
// watch. The client library's own Lock is the peer. All are on keys whose parent is
// there, and then on a new key each time, for which the floor has one parent for all.
func zooKeeper(ctx context.Context, p plan) ([]line, error) {
	k, err := newKeeper(strings.Split(p.addr, ","))
	if err != nil {
		return nil, err
	}
	defer k.close()
	p.pairs, p.slice = p.pairs*finer, p.slice/finer
	known, err := k.compare(ctx, p, "a known key", 1.35, func(int) string { return "known" })
	if err != nil {
		return nil, err
	}
	fresh, err := k.compare(ctx, p, "new keys", 1.7, func(n int) string { return fmt.Sprint("new-", n) })
	return append(known, fresh...), err
}

// dialZooKeeper connects to addrs, with commas between.
func dialZooKeeper(addrs string, timeout time.Duration) (*zk.Conn, error) {
	c, _, err := zk.Connect(strings.Split(addrs, ","), timeout, zk.WithLogInfo(false))
	return c, err
}

// describeZooKeeper says which servers are at addrs, with commas between.
func describeZooKeeper(ctx context.Context, addrs string) (string, error) {
	addr, _, _ := strings.Cut(addrs, ",")
	text, err := servers.ZooKeeperAsk(ctx, addr, "srvr")
	version, _, _ := strings.Cut(strings.TrimPrefix(text, "Zookeeper version: "), "-")
	return "ZooKeeper " + version, err
}

// A keeper is a client of each kind, each with a connection of its own.
type keeper struct {
	lock        *distlock.Client
	floor, peer *zk.Conn
	root        string
	last        int // number of the last new key
}

func newKeeper(addrs []string) (*keeper, error) {
	k := &keeper{root: "/bench-" + distlock.NewOwner().Text()}
	var err error
	k.lock, err = distlock.New(zklock.New(addrs, &zklock.Options{Root: k.root}), distlock.WithTTL(30*time.Second))
	if err != nil {
		return nil, err
	}
	for _, c := range []**zk.Conn{&k.floor, &k.peer} {
		if *c, err = dialZooKeeper(strings.Join(addrs, ","), 30*time.Second); err != nil {
			return nil, errors.Join(err, k.close())
		}
	}
	_, err = k.floor.Create(k.root+"-floor", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	return k, err
}

func (k *keeper) close() error {
	for _, c := range []*zk.Conn{k.floor, k.peer} {
		if c != nil {
			c.Close()
		}
	}
	return k.lock.Close(context.Background())
}

// compare measures the three on the keys that name gives.
func (k *keeper) compare(ctx context.Context, p plan, on string, budget float64, name func(int) string) ([]line, error) {
	var ours, floor, peer, oursMean, floorMean, peerMean record
	var a, b, c guard
	next := func(op func(context.Context, string) error) func(context.Context) error {
		return func(ctx context.Context) error {
			k.last++
			return op(ctx, name(k.last))
		}
	}
	err := inTurn(ctx, p, []side{
		repeat(&oursMean, &ours, next(func(ctx context.Context, key string) error { return k.ourOnce(ctx, key, &a) })),
		repeat(&floorMean, &floor, next(func(_ context.Context, key string) error { return k.floorOnce(key, &b) })),
		repeat(&peerMean, &peer, next(func(_ context.Context, key string) error { return k.peerOnce(key, &c) })),
	}, &ours, &floor, &peer, &oursMean, &floorMean, &peerMean)
	return []line{
		compared("acquire + release, "+on+", p50", &ours, &floor).atMost(budget),
		{Figure: "acquire + release, " + on + ", p99", Unit: nanoseconds, Value: ours.p99(), Floor: floor.p99()},
		compared("instead of distlock: zk.Lock, "+on+", p50", &peer, &floor),
	}, err
}

func (k *keeper) ourOnce(ctx context.Context, key string, g *guard) error {
	l, err := k.lock.Acquire(ctx, key)
	if err != nil {
		return err
	}
	return errors.Join(g.enter(l.Token()), g.leave(), l.Release(ctx))
}

func (k *keeper) floorOnce(key string, g *guard) error {
	path, err := k.floor.Create(k.root+"-floor/"+key, []byte(floorOwner), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	return errors.Join(g.enter(0), g.leave(), k.floor.Delete(path, -1))
}

func (k *keeper) peerOnce(key string, g *guard) error {
	l := zk.NewLock(k.peer, k.root+"-peer/"+key, zk.WorldACL(zk.PermAll))
	if err := l.Lock(); err != nil {
		return err
	}
	return errors.Join(g.enter(0), g.leave(), l.Unlock())
}
