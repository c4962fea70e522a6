package postgres_test

import (
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
)

// Behind a pooler in transaction mode a lease is refused when it is opened, as
// its lock would stay behind in a server process that serves others.
func TestPoolerIsRefused(t *testing.T) {
	t.Parallel()
	pool := connectTo(t, serverURL(t, "DISTLOCK_TEST_PGBOUNCER"), nil)
	for range 5 { // however the pooler deals its connections out
		o := fresh()
		c := client(t, pool, o)
		is(t, "Ping", c.Ping(t.Context()), distlock.ErrInvalid)
		_, err := c.TryAcquire(t.Context(), "k")
		is(t, "TryAcquire", err, distlock.ErrInvalid)
		var left int
		is(t, "count", pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE "+isLock,
			pglock.ID(o.Namespace, "k")).Scan(&left))
		if left > 0 {
			t.Error("a lock is left")
		}
	}
}

// Locks of a transaction work there.
func TestTxLocksBehindAPooler(t *testing.T) {
	t.Parallel()
	pool, l, ctx := connectTo(t, serverURL(t, "DISTLOCK_TEST_PGBOUNCER"), nil), locker(), t.Context()
	a, b := begin(t, pool, pgx.TxOptions{}), begin(t, pool, pgx.TxOptions{})
	is(t, "TryAcquire", l.TryAcquire(ctx, a, "k"))
	is(t, "TryAcquire by another", l.TryAcquire(ctx, b, "k", "other"), distlock.ErrHeld)
	is(t, "commit", a.Commit(ctx))
	is(t, "Acquire", l.Acquire(ctx, b, "other", "k"))
	is(t, "rollback", b.Rollback(ctx))

	migrate(t, pool, "CREATE TABLE IF NOT EXISTS test_counter (id text PRIMARY KEY, n bigint NOT NULL)")
	exec(t, pool, "INSERT INTO test_counter VALUES ($1, 0)", l.Namespace)
	const workers, rounds = 4, 25
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					if err := l.Acquire(ctx, tx, "counter"); err != nil {
						return err
					}
					var n int
					if err := tx.QueryRow(ctx, "SELECT n FROM test_counter WHERE id = $1", l.Namespace).Scan(&n); err != nil {
						return err
					}
					_, err := tx.Exec(ctx, "UPDATE test_counter SET n = $1 WHERE id = $2", n+1, l.Namespace)
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	var n int
	is(t, "the counter", pool.QueryRow(ctx, "SELECT n FROM test_counter WHERE id = $1", l.Namespace).Scan(&n))
	if n != workers*rounds {
		t.Errorf("the counter is %d, want %d: updates were lost", n, workers*rounds)
	}
}
