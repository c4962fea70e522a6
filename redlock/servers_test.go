package redlock_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	goredis "github.com/redis/go-redis/v9"
)

// addresses returns the nodes to test with. Without any the test is skipped, or
// fails where a skip is one.
func addresses(t testing.TB) []string {
	t.Helper()
	const env = "DISTLOCK_TEST_REDLOCK"
	v := os.Getenv(env)
	if v == "" {
		if os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
			t.Fatalf("%s is not set", env)
		}
		t.Skipf("%s is not set: no servers to test with (make test starts them)", env)
	}
	return strings.Split(v, ",")
}

// dial returns a client for each address, closed at the end.
func dial(t testing.TB, addrs []string) []goredis.UniversalClient {
	t.Helper()
	var all []goredis.UniversalClient
	for _, a := range addrs {
		rdb := goredis.NewClient(&goredis.Options{Addr: a})
		t.Cleanup(func() { rdb.Close() })
		all = append(all, rdb)
	}
	return all
}

// client returns a client of the library, closed at the end.
func client(t testing.TB, b distlock.Backend, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	c, err := distlock.New(b, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// within returns a context that ends after d.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
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
