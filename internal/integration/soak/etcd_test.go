package soak_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	"github.com/distlock-go/distlock/internal/integration/servers"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

func init() {
	os.Setenv("ETCD_CLIENT_DEBUG", "fatal") // or its client logs each request that fails
}

func startEtcd(t *testing.T) service {
	s := servers.Start(t, servers.Etcd)
	return service{addrs: s.Addrs(), nodes: []*servers.Server{s}, left: leftInEtcd(t, s.Addrs())}
}

func startEtcdTrio(t *testing.T) service {
	return ofEnsemble(servers.Start(t, servers.EtcdTrio), func(addrs []string) leftFunc { return leftInEtcd(t, addrs) })
}

// A leftFunc is a service's left.
type leftFunc = func(context.Context) ([]string, error)

// ofEnsemble is the service of three that agree by majority.
func ofEnsemble(e *servers.Ensemble, left func(addrs []string) leftFunc) service {
	s := service{addrs: e.Addrs(), members: e.Members, left: left(e.Addrs())}
	for _, m := range e.Members {
		s.nodes = append(s.nodes, m.Server)
	}
	return s
}

func connectEtcd(n network) (distlock.Backend, func() error) {
	cli := etcdClient(n.Addrs)
	return etcdlock.New(cli, nil), cli.Close
}

// etcdClient returns a client that tries again soon what could not be reached.
func etcdClient(endpoints []string) *clientv3.Client {
	cli, err := clientv3.New(clientv3.Config{
		Endpoints:            endpoints,
		DialKeepAliveTime:    10 * time.Second, // the least that gRPC takes
		DialKeepAliveTimeout: time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, MaxDelay: 500 * time.Millisecond},
			MinConnectTimeout: time.Second,
		})},
	})
	if err != nil {
		panic(err) // it connects later: only the configuration can be wrong
	}
	return cli
}

// leftInEtcd tells the keys and the leases.
func leftInEtcd(t *testing.T, addrs []string) leftFunc {
	cli := etcdClient(addrs)
	t.Cleanup(func() { cli.Close() })
	return func(ctx context.Context) (left []string, _ error) {
		resp, err := cli.Get(ctx, etcdlock.DefaultPrefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			return nil, err
		}
		for _, kv := range resp.Kvs {
			left = append(left, string(kv.Key))
		}
		leases, err := cli.Leases(ctx)
		if err != nil {
			return nil, err
		}
		for _, l := range leases.Leases {
			left = append(left, fmt.Sprintf("lease %x", l.ID))
		}
		return left, nil
	}
}
