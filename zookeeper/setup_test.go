package zookeeper_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	zklock "github.com/distlock-go/distlock/zookeeper"
	"github.com/go-zookeeper/zk"
)

// tick is the tickTime of the test servers.
const tick = 200 * time.Millisecond

// The servers that tests run on, by the variable that names them.
var ensembles = []struct{ name, env string }{
	{"one server", "DISTLOCK_TEST_ZOOKEEPER"},
	{"three servers", "DISTLOCK_TEST_ZOOKEEPER_TRIO"},
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

// quiet is a logger that says nothing.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// connect returns a connection of the client library's own, closed at the end.
func connect(t testing.TB, servers []string) *zk.Conn {
	t.Helper()
	c, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// space is one test's part of a server.
type space struct {
	testing.TB
	servers []string
	admin   *zk.Conn
	root    string
}

func newSpace(t testing.TB) *space {
	t.Helper()
	servers := addresses(t, ensembles[0].env)
	return &space{TB: t, servers: servers, admin: connect(t, servers), root: "/test-" + distlock.NewOwner().Text()}
}

// backend returns a backend whose options set has changed.
func (s *space) backend(set ...func(*zklock.Options)) *zklock.Backend {
	o := &zklock.Options{Root: s.root, Tick: tick}
	for _, f := range set {
		f(o)
	}
	return zklock.New(s.servers, o)
}

// client returns a client of the library on b, closed at the end.
func (s *space) client(b distlock.Backend, opts ...distlock.Option) *distlock.Client {
	s.Helper()
	c, err := distlock.New(b, append([]distlock.Option{distlock.WithTTL(10 * time.Second)}, opts...)...)
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

// bound is how long anything may take that should take no time.
const bound = 10 * time.Second

// within returns a context that ends after d.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
