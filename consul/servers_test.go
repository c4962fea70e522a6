package consul_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/hashicorp/consul/api"
)

// The servers that tests run on, by the variable that names them. Their
// session_ttl_min is minTTL.
var servers = []struct{ name, env string }{
	{"single", "DISTLOCK_TEST_CONSUL"},
	{"trio", "DISTLOCK_TEST_CONSUL_TRIO"},
}

// minTTL is the servers' session_ttl_min.
const minTTL = 500 * time.Millisecond

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

// dial returns a client of the agent at addr, whose connections are closed at
// the end.
func dial(t testing.TB, addr string, set ...func(*api.Config)) *api.Client {
	t.Helper()
	c := api.DefaultConfig()
	c.Address = addr
	for _, f := range set {
		f(c)
	}
	client, err := api.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Transport.CloseIdleConnections)
	return client
}

// through has all requests of a client pass f.
func through(f func(http.RoundTripper, *http.Request) (*http.Response, error)) func(*api.Config) {
	return func(c *api.Config) {
		c.HttpClient = &http.Client{Transport: tripper{c.Transport, f}}
	}
}

type tripper struct {
	next http.RoundTripper
	f    func(http.RoundTripper, *http.Request) (*http.Response, error)
}

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t.f(t.next, r) }

// connect returns a client of the single server.
func connect(t testing.TB, set ...func(*api.Config)) *api.Client {
	t.Helper()
	return dial(t, addresses(t, "DISTLOCK_TEST_CONSUL")[0], set...)
}

// options are those for the test servers, with a prefix of the test's own.
func options() *consullock.Options {
	return &consullock.Options{Prefix: "test-" + distlock.NewOwner().Text() + "/", MinTTL: minTTL}
}

// locks returns a lock client without lock-delay, closed at the end.
func locks(t testing.TB, b distlock.Backend, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	c, err := distlock.New(b, append([]distlock.Option{distlock.WithLockDelay(0)}, opts...)...)
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
	for end := time.Now().Add(20 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// acquire gets key or ends the test.
func acquire(t testing.TB, c distlock.Locker, key string, opts ...distlock.Option) *distlock.Lease {
	t.Helper()
	l, err := c.Acquire(within(t, time.Minute), key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// release gives l up or fails the test.
func release(t testing.TB, l *distlock.Lease) {
	t.Helper()
	if err := l.Release(context.Background()); err != nil {
		t.Errorf("got %v from Release, want nil", err)
	}
}

func isHeld(err error) bool    { return errors.Is(err, distlock.ErrHeld) }
func isLost(err error) bool    { return errors.Is(err, distlock.ErrLost) }
func isInvalid(err error) bool { return errors.Is(err, distlock.ErrInvalid) }
