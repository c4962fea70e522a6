package soak_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

func startZooKeeper(t *testing.T) service {
	return ofEnsemble(servers.Start(t, servers.ZooKeeperTrio), func(addrs []string) leftFunc { return leftInZooKeeper(t, addrs) })
}

func connectZooKeeper(n network) (distlock.Backend, func() error) {
	return zklock.New(n.Addrs, &zklock.Options{Tick: servers.ZooKeeperTick}), func() error { return nil }
}

type noLog struct{}

func (noLog) Printf(string, ...any) {}

// leftInZooKeeper tells the nodes below the keys' parents, which go by themselves.
func leftInZooKeeper(t *testing.T, addrs []string) leftFunc {
	c, _, err := zk.Connect(addrs, 20*time.Second, zk.WithLogger(noLog{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return func(context.Context) (left []string, _ error) {
		if _, err := c.Sync("/"); err != nil {
			return nil, err
		}
		parents, _, err := c.Children(zklock.DefaultRoot)
		if err == zk.ErrNoNode {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, p := range parents {
			names, _, err := c.Children(zklock.DefaultRoot + "/" + p)
			if err != nil && err != zk.ErrNoNode {
				return nil, err
			}
			if len(names) > 0 {
				left = append(left, p+": "+strings.Join(names, " "))
			}
		}
		return left, nil
	}
}
