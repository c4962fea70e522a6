package faults_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5/pgxpool"
)

// healthyPostgres is a server that no test harms; see healthy.
var healthyPostgres = sync.OnceValues(func() (*servers.Server, error) {
	return servers.Postgres.Launch(context.Background())
})

// healthyDatabase returns the shared server.
func healthyDatabase(t testing.TB) *servers.Server {
	t.Helper()
	s, err := healthyPostgres()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pgOptions are those of all lock clients here.
var pgOptions = &pglock.Options{CreateTable: true, NoAsyncFailover: true}

// pgPool returns a pool of at most n connections, closed at the end of the test. It
// connects when it is used.
func pgPool(t testing.TB, addr string, n int32) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(servers.PostgresURL(addr))
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = n
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// pgLocks returns a lock client of the database at addr, closed at the end of the test.
func pgLocks(t testing.TB, addr string, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	return pgLocksOn(t, pgPool(t, addr, 1), opts...)
}

// pgLocksOn is pgLocks on a pool.
func pgLocksOn(t testing.TB, pool *pgxpool.Pool, opts ...distlock.Option) *distlock.Client {
	t.Helper()
	c, err := distlock.New(pglock.New(pool, pgOptions), opts...)
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

// A pgWaiter is a lock client that tells when it waits.
type pgWaiter struct {
	*distlock.Client
	refused chan struct{}
}

// pgWaits returns a client of the database at addr for one waiter, closed at the end of
// the test.
func pgWaits(t testing.TB, addr string, opts ...distlock.Option) *pgWaiter {
	t.Helper()
	w := &pgWaiter{refused: make(chan struct{}, 100)}
	w.Client = pgLocks(t, addr, append(opts, distlock.WithTrace(&distlock.Trace{
		Attempted: func(_ context.Context, i distlock.AttemptInfo) {
			if isHeld(i.Err) {
				select {
				case w.refused <- struct{}{}:
				default:
				}
			}
		},
	}))...)
	return w
}

// await waits until w was refused and, as it begins to listen, refused again.
func (w *pgWaiter) await(t testing.TB) {
	t.Helper()
	for range 2 {
		select {
		case <-w.refused:
		case <-time.After(bound):
			t.Fatal("the waiter does not wait")
		}
	}
}

// pgScan runs a statement that returns one value.
func pgScan[V any](t testing.TB, pool *pgxpool.Pool, sql string, args ...any) (v V) {
	t.Helper()
	if err := pool.QueryRow(within(t, bound), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// pgHeld finds the connection that has the lock $1 of pg_locks.
const pgHeld = `FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
	AND (classid::bigint << 32 | objid::bigint) = $1`

// pgHolders returns how many have the lock of key.
func pgHolders(t testing.TB, pool *pgxpool.Pool, key string) int {
	t.Helper()
	return pgScan[int](t, pool, "SELECT count(*) "+pgHeld, pglock.ID(pglock.DefaultNamespace, key))
}

// pgTerminate ends the connection that has the lock of key.
func pgTerminate(t testing.TB, pool *pgxpool.Pool, key string) {
	t.Helper()
	if !pgScan[bool](t, pool, "SELECT pg_terminate_backend(pid) "+pgHeld, pglock.ID(pglock.DefaultNamespace, key)) {
		t.Fatal("the connection could not be ended")
	}
}

func isLost(err error) bool     { return errors.Is(err, distlock.ErrLost) }
func isHeld(err error) bool     { return errors.Is(err, distlock.ErrHeld) }
func isReleased(err error) bool { return errors.Is(err, distlock.ErrReleased) }
