package postgres_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5/pgxpool"
)

// serverURL returns the URL in env. Without any the test is skipped, or fails
// where a skip is one.
func serverURL(t testing.TB, env string) string {
	t.Helper()
	v := os.Getenv(env)
	if v == "" {
		if os.Getenv("DISTLOCK_TEST_REQUIRE") != "" {
			t.Fatalf("%s is not set", env)
		}
		t.Skipf("%s is not set: no server to test with (make test starts them)", env)
	}
	return v
}

// connect returns a pool on the server, closed at the end.
func connect(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return connectTo(t, serverURL(t, "DISTLOCK_TEST_POSTGRES"), nil)
}

// connectTo returns a pool, closed at the end. Set may be nil.
func connectTo(t testing.TB, url string, set func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if set != nil {
		set(cfg)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// within returns a context that ends after d.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// fresh returns options with a namespace of the test's own.
func fresh() *pglock.Options {
	return &pglock.Options{Namespace: "test-" + distlock.NewOwner().Text(), CreateTable: true}
}

// client returns a client of the library, closed at the end.
func client(t testing.TB, pool pglock.Pool, o *pglock.Options, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	c, err := distlock.New(pglock.New(pool, o), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// eventually polls until f is true, for a bounded time.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
