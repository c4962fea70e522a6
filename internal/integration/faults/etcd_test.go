package faults_test

import (
	"context"
	"fmt"
	"os"
	"sync"
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

// etcdServer is a single member that no test harms, started when it is first asked for.
var etcdServer = sync.OnceValues(func() (*servers.Server, error) {
	return servers.Etcd.Launch(context.Background())
})

func healthyEtcd(t testing.TB) *servers.Server {
	t.Helper()
	s, err := etcdServer()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// etcdDial returns a client, closed at the end of the test.
func etcdDial(t testing.TB, endpoints ...string) *clientv3.Client {
	t.Helper()
	cli, err := etcdConnect(endpoints)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cli.Close() })
	return cli
}

// etcdConnect returns a client that tries again soon what could not be reached.
func etcdConnect(endpoints []string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints:            endpoints,
		DialKeepAliveTime:    10 * time.Second, // the least that gRPC takes
		DialKeepAliveTimeout: time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, MaxDelay: 500 * time.Millisecond},
			MinConnectTimeout: time.Second,
		})},
	})
}

// etcdOn returns a lock client on cli, closed at the end of the test.
func etcdOn(t testing.TB, cli *clientv3.Client, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	c, err := distlock.New(etcdlock.New(cli, nil), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeBound)
		defer cancel()
		_ = c.Close(ctx) // an error says only that the server is gone
	})
	return c
}

// etcdLocks is etcdOn a client of its own, with a session that is open.
func etcdLocks(t testing.TB, endpoints []string, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	c := etcdOn(t, etcdDial(t, endpoints...), opts...)
	release(t, insist(t, c, fmt.Sprintf("%s-warm-%p", t.Name(), c)))
	return c
}

// etcdLeader waits until there is a leader, and returns it and the others.
func etcdLeader(t testing.TB, e *servers.Ensemble) (leader *servers.Member, others []*servers.Member) {
	t.Helper()
	eventually(t, bound, "a leader", func() bool {
		leader, others = nil, nil
		for _, m := range e.Members {
			if etcdLeads(t, m) {
				leader = m
			} else {
				others = append(others, m)
			}
		}
		return leader != nil
	})
	return leader, others
}

// etcdLeads reports whether a member takes itself for the leader.
func etcdLeads(t testing.TB, m *servers.Member) bool {
	t.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer cli.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	resp, err := cli.Status(ctx, m.Addr())
	return err == nil && resp.Leader == resp.Header.MemberId
}

// etcdQueue returns how many hold or wait for key.
func etcdQueue(t testing.TB, cli *clientv3.Client, key string) int {
	t.Helper()
	resp, err := cli.Get(within(t, bound), etcdlock.DefaultPrefix+key+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	return int(resp.Count)
}

// An attained lock is what a wait in the background has come to.
type attained struct {
	lease *distlock.Lease
	err   error
	at    time.Time
}

// attain waits for key in the background.
func attain(t testing.TB, c distlock.Locker, key string) <-chan attained {
	result := make(chan attained, 1)
	ctx := within(t, 2*bound)
	go func() { // ends with ctx at the latest
		l, err := c.Acquire(ctx, key)
		result <- attained{l, err, time.Now()}
	}()
	return result
}
