package redis_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	redislock "github.com/distlock-go/distlock/redis"
	goredis "github.com/redis/go-redis/v9"
)

// The servers that tests run on, by the variable that names them.
var servers = []struct {
	name, env string
	dial      func(addrs []string, opts func(*goredis.UniversalOptions)) goredis.UniversalClient
}{
	{"redis", "DISTLOCK_TEST_REDIS", single},
	{"redis without DELEX", "DISTLOCK_TEST_REDIS_NODELEX", single},
	{"valkey 8.1", "DISTLOCK_TEST_VALKEY81", single},
	{"valkey 9.1", "DISTLOCK_TEST_VALKEY91", single},
	{"cluster", "DISTLOCK_TEST_REDIS_CLUSTER", cluster},
	{"sentinel", "DISTLOCK_TEST_REDIS_SENTINEL", sentinel},
}

// sentinelMaster is the name of the master in the test servers' Sentinel.
const sentinelMaster = "distlock"

func single(addrs []string, set func(*goredis.UniversalOptions)) goredis.UniversalClient {
	o := &goredis.UniversalOptions{Addrs: addrs}
	set(o)
	return goredis.NewClient(o.Simple())
}

func cluster(addrs []string, set func(*goredis.UniversalOptions)) goredis.UniversalClient {
	o := &goredis.UniversalOptions{Addrs: addrs}
	set(o)
	return goredis.NewClusterClient(o.Cluster())
}

func sentinel(addrs []string, set func(*goredis.UniversalOptions)) goredis.UniversalClient {
	o := &goredis.UniversalOptions{Addrs: addrs, MasterName: sentinelMaster}
	set(o)
	return goredis.NewFailoverClient(o.Failover())
}

// addresses returns the servers that env names. Without any the test is
// skipped, or fails where a skip is one.
func addresses(t testing.TB, env string) []string {
	t.Helper()
	v := os.Getenv(env)
	if v == "" {
		if os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
			t.Fatalf("%s is not set", env)
		}
		t.Skipf("%s is not set: no server to test with (make test starts them)", env)
	}
	return strings.Split(v, ",")
}

// connect returns a client of the plain server, closed at the end.
func connect(t testing.TB) *goredis.Client {
	t.Helper()
	rdb := goredis.NewClient(&goredis.Options{Addr: addresses(t, "DISTLOCK_TEST_REDIS")[0]})
	t.Cleanup(func() { rdb.Close() })
	return rdb
}

// within returns a context that ends after d.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// onServers runs test on each kind of server, with a prefix of its own.
func onServers(t *testing.T, test func(t *testing.T, rdb goredis.UniversalClient, prefix string)) {
	t.Parallel()
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rdb := s.dial(addresses(t, s.env), plain)
			t.Cleanup(func() { rdb.Close() })
			test(t, rdb, freshPrefix())
		})
	}
}

func freshPrefix() string { return "test-" + distlock.NewOwner().Text() + ":" }

// client returns a client of the library, closed at the end.
func client(t testing.TB, rdb redislock.Client, prefix string, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	return clientOf(t, redislock.New(rdb, &redislock.Options{Prefix: prefix}), opts...)
}

func clientOf(t testing.TB, b distlock.Backend, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	c, err := distlock.New(b, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// eventually polls until f is true, for a bounded time.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

// keys returns the keys that begin with prefix, on all nodes.
func keys(t testing.TB, rdb goredis.UniversalClient, prefix string) (all []string) {
	t.Helper()
	ctx := within(t, 10*time.Second)
	var mu sync.Mutex
	list := func(ctx context.Context, c *goredis.Client) error {
		found, err := c.Keys(ctx, prefix+"*").Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, found...)
		return err
	}
	var err error
	switch c := rdb.(type) {
	case *goredis.ClusterClient:
		err = c.ForEachMaster(ctx, list)
	case *goredis.Client:
		err = list(ctx, c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}
