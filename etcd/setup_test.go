package etcd_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	etcdlock "github.com/distlock-go/distlock/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

func TestMain(m *testing.M) {
	os.Setenv("ETCD_CLIENT_DEBUG", "fatal") // or it logs each request that is cancelled
	m.Run()
}

// bound is how long anything may take that should take no time.
const bound = 10 * time.Second

// The clusters to test with: of one member, for all tests, and of three.
const (
	singleEnv = "DISTLOCK_TEST_ETCD"
	trioEnv   = "DISTLOCK_TEST_ETCD_TRIO"
)

// endpoints returns those of a cluster. Without one the test is skipped, or
// fails where a skip is one.
func endpoints(t testing.TB, env string) []string {
	t.Helper()
	v := os.Getenv(env)
	if v == "" {
		if os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
			t.Fatalf("%s is not set", env)
		}
		t.Skipf("%s is not set: no server to test with (make test starts one)", env)
	}
	return strings.Split(v, ",")
}

// dial returns a client that is closed when t ends.
func dial(t testing.TB, set ...func(*clientv3.Config)) *clientv3.Client {
	t.Helper()
	fast := backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, MaxDelay: 200 * time.Millisecond}
	c := clientv3.Config{
		Endpoints:            endpoints(t, singleEnv),
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 2 * time.Second,
		DialOptions: []grpc.DialOption{
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: fast, MinConnectTimeout: time.Second}),
		},
	}
	for _, f := range set {
		f(&c)
	}
	cli, err := clientv3.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cli.Close() })
	return cli
}

// space is one test's part of the cluster.
type space struct {
	testing.TB
	ctx    context.Context
	env    string // of the cluster
	admin  *clientv3.Client
	prefix string
}

func newSpace(t testing.TB) *space { return newSpaceOn(t, singleEnv) }

// newSpaceOn is newSpace on the cluster that env names.
func newSpaceOn(t testing.TB, env string) *space {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	s := &space{TB: t, ctx: ctx, env: env, prefix: fmt.Sprintf("test-%016x/", rand.Uint64())}
	s.admin = s.dial()
	return s
}

// onEach runs f on one member and on three.
func onEach(t *testing.T, f func(s *space)) {
	for _, env := range []string{singleEnv, trioEnv} {
		t.Run(env, func(t *testing.T) { f(newSpaceOn(t, env)) })
	}
}

// dial is dial to the space's cluster.
func (s *space) dial(set ...func(*clientv3.Config)) *clientv3.Client {
	s.Helper()
	at := func(c *clientv3.Config) { c.Endpoints = endpoints(s, s.env) }
	return dial(s, append([]func(*clientv3.Config){at}, set...)...)
}

func (s *space) options() *etcdlock.Options { return &etcdlock.Options{Prefix: s.prefix} }

// client returns a client of its own on a connection of its own.
func (s *space) client(opts ...distlock.Option) *distlock.Client {
	s.Helper()
	return s.clientOn(s.dial(), opts...)
}

func (s *space) clientOn(cli *clientv3.Client, opts ...distlock.Option) *distlock.Client {
	s.Helper()
	c, err := distlock.New(etcdlock.New(cli, s.options()), opts...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

func (s *space) acquire(c *distlock.Client, key string, opts ...distlock.Option) *distlock.Lease {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, bound)
	defer cancel()
	l, err := c.Acquire(ctx, key, opts...)
	if err != nil {
		s.Fatalf("Acquire %q: %v", key, err)
	}
	return l
}

func (s *space) release(l *distlock.Lease) {
	s.Helper()
	if err := l.Release(s.ctx); err != nil {
		s.Fatalf("Release: %v", err)
	}
}

// keys returns the names under the prefix that begin with part, oldest first.
func (s *space) keys(part string) []string {
	s.Helper()
	resp, err := s.admin.Get(s.ctx, s.prefix+part, clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		s.Fatal(err)
	}
	var names []string
	for _, kv := range resp.Kvs {
		names = append(names, string(kv.Key))
	}
	return names
}

// queued waits until n keys of one lock are there and returns them.
func (s *space) queued(key string, n int) []string {
	s.Helper()
	var names []string
	s.eventually(fmt.Sprintf("%d keys in the queue of %q", n, key), func() bool {
		names = s.keys(etcdlock.Escape(key) + "/")
		return len(names) == n
	})
	return names
}

// leaseOf returns the lease of a name.
func (s *space) leaseOf(name string) clientv3.LeaseID {
	s.Helper()
	resp, err := s.admin.Get(s.ctx, name)
	if err != nil || len(resp.Kvs) == 0 {
		s.Fatalf("get %q: got %v, %v", name, resp, err)
	}
	return clientv3.LeaseID(resp.Kvs[0].Lease)
}

// eventually polls f until it is true.
func (s *space) eventually(what string, f func() bool) {
	s.Helper()
	for end := time.Now().Add(bound); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("not within %v: %s", bound, what)
		}
	}
}

// result is what Acquire returned, and when.
type result struct {
	lease *distlock.Lease
	err   error
	at    time.Time
}

// wait calls Acquire in a goroutine.
func (s *space) wait(ctx context.Context, c *distlock.Client, key string) <-chan result {
	results := make(chan result, 1)
	go func() {
		l, err := c.Acquire(ctx, key)
		results <- result{l, err, time.Now()}
	}()
	return results
}

// got returns the outcome of a wait.
func (s *space) got(results <-chan result) result {
	s.Helper()
	select {
	case r := <-results:
		return r
	case <-time.After(bound):
		s.Fatalf("Acquire still waits after %v", bound)
		return result{}
	}
}
