package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// begin begins a transaction, rolled back at the end of the test if it is open.
func begin(t testing.TB, pool *pgxpool.Pool, o pgx.TxOptions) pgx.Tx {
	t.Helper()
	tx, err := pool.BeginTx(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(context.Background()) })
	return tx
}

// is fails the test unless err matches all of targets, or is nil if there are
// none.
func is(t testing.TB, what string, err error, targets ...error) {
	t.Helper()
	if len(targets) == 0 && err != nil {
		t.Errorf("%s: got %v, want nil", what, err)
	}
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("%s: got %v, want %v", what, err, target)
		}
	}
}

// locker returns a TxLocker with a namespace of the test's own.
func locker() pglock.TxLocker { return pglock.TxLocker{Namespace: fresh().Namespace} }

// The end of a transaction, whichever, ends its locks, and nothing else does.
func TestTxLockEndsWithItsTransaction(t *testing.T) {
	t.Parallel()
	pool, l, ctx := connect(t), locker(), t.Context()
	for name, end := range map[string]func(pgx.Tx) error{
		"commit":   func(tx pgx.Tx) error { return tx.Commit(ctx) },
		"rollback": func(tx pgx.Tx) error { return tx.Rollback(ctx) },
		"loss of the connection": func(tx pgx.Tx) error {
			return tx.Conn().Close(ctx)
		},
	} {
		a, b := begin(t, pool, pgx.TxOptions{}), begin(t, pool, pgx.TxOptions{})
		is(t, "Acquire", l.Acquire(ctx, a, "k"))
		is(t, "Acquire again by the same", l.Acquire(ctx, a, "k"))
		is(t, "TryAcquire by another", l.TryAcquire(ctx, b, "k"), distlock.ErrHeld)
		got := make(chan error, 1)
		go func() { got <- l.Acquire(ctx, b, "k") }()
		waitsForLock(t, pool, b)
		is(t, name, end(a))
		is(t, "Acquire after "+name, <-got)
		is(t, "rollback", b.Rollback(ctx))
	}
}

// waitsForLock waits until tx waits for an advisory lock.
func waitsForLock(t testing.TB, pool *pgxpool.Pool, tx pgx.Tx) {
	t.Helper()
	pid := tx.Conn().PgConn().PID()
	eventually(t, "a transaction waits for the lock", func() bool {
		var n int
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
			AND NOT granted AND pid = $1`, pid).Scan(&n)
		return err == nil && n == 1
	})
}

// A try that cannot have all keys has none, and the transaction goes on.
func TestTxTryIsAllOrNone(t *testing.T) {
	t.Parallel()
	pool, l, ctx := connect(t), locker(), t.Context()
	a, b, c := begin(t, pool, pgx.TxOptions{}), begin(t, pool, pgx.TxOptions{}), begin(t, pool, pgx.TxOptions{})
	is(t, "TryAcquire", l.TryAcquire(ctx, a, "held"))
	is(t, "TryAcquire", l.TryAcquire(ctx, b, "mine"))
	is(t, "TryAcquire of three, one held", l.TryAcquire(ctx, b, "x", "held", "y", "mine"), distlock.ErrHeld)
	is(t, "TryAcquire of the other two by somebody else", l.TryAcquire(ctx, c, "x", "y"))
	is(t, "TryAcquire of what b had before", l.TryAcquire(ctx, c, "mine"), distlock.ErrHeld)
	var one int
	is(t, "the next statement", b.QueryRow(ctx, "SELECT 1").Scan(&one))
}

// Transactions that lock the same keys in other orders never wait in a circle.
func TestTxLocksInOneOrder(t *testing.T) {
	t.Parallel()
	pool, l := connect(t), locker()
	keys := []string{"a", "b", "c", "d", "e"}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				mine := slices.Clone(keys)
				rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
				err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
					return l.Acquire(t.Context(), tx, mine[:3]...)
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A lease and a transaction on one key exclude each other.
func TestTxLockAndLease(t *testing.T) {
	t.Parallel()
	pool, o, ctx := connect(t), fresh(), t.Context()
	l, c := pglock.TxLocker{Namespace: o.Namespace}, client(t, pool, o)
	tx := begin(t, pool, pgx.TxOptions{})
	is(t, "TryAcquire in a transaction", l.TryAcquire(ctx, tx, "k"))
	_, err := c.TryAcquire(ctx, "k")
	is(t, "Client.TryAcquire", err, distlock.ErrHeld)
	is(t, "commit", tx.Commit(ctx))
	lease, err := c.TryAcquire(ctx, "k")
	is(t, "Client.TryAcquire after the commit", err)
	tx = begin(t, pool, pgx.TxOptions{})
	is(t, "TryAcquire beside a lease", l.TryAcquire(ctx, tx, "k"), distlock.ErrHeld)
	is(t, "Release", lease.Release(ctx))
	is(t, "TryAcquire after the release", l.TryAcquire(ctx, tx, "k"))
}

// A wait that is cut short leaves no lock and no waiter.
func TestTxWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	pool, l := connect(t), locker()
	a, b := begin(t, pool, pgx.TxOptions{}), begin(t, pool, pgx.TxOptions{})
	is(t, "Acquire", l.Acquire(t.Context(), a, "k"))
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() { got <- l.Acquire(ctx, b, "k") }()
	waitsForLock(t, pool, b)
	cancel()
	is(t, "a wait that was cancelled", <-got, context.Canceled)
	is(t, "commit", a.Commit(t.Context()))
	c := begin(t, pool, pgx.TxOptions{})
	eventually(t, "the server has noticed, and the key is free", func() bool { return l.TryAcquire(t.Context(), c, "k") == nil })
}

// A client that falls silent within its transaction is thrown out.
func TestTxIdleTimeout(t *testing.T) {
	t.Parallel()
	pool, l, ctx := connect(t), locker(), t.Context()
	l.IdleTimeout = 300 * time.Millisecond
	a, b := begin(t, pool, pgx.TxOptions{}), begin(t, pool, pgx.TxOptions{})
	is(t, "TryAcquire", l.TryAcquire(ctx, a, "k"))
	is(t, "Acquire by another", pglock.TxLocker{Namespace: l.Namespace}.Acquire(within(t, patience), b, "k"))
	if err := a.Commit(ctx); err == nil {
		t.Error("the transaction that was silent was committed")
	}
	var own string
	is(t, "rollback", b.Rollback(ctx))
	is(t, "SHOW", pool.QueryRow(ctx, "SHOW idle_in_transaction_session_timeout").Scan(&own))
	if own != "0" {
		t.Errorf("the setting has outlived the transaction: %s", own)
	}
}

func TestTxInput(t *testing.T) {
	tx := struct{ pgx.Tx }{} // whatever is sent on it panics
	for name, err := range map[string]error{
		"no key":              pglock.AcquireTx(t.Context(), tx),
		"no key, try":         pglock.TryAcquireTx(t.Context(), tx),
		"empty key":           pglock.AcquireTx(t.Context(), tx, "a", ""),
		"long key":            pglock.AcquireTx(t.Context(), tx, fmt.Sprintf("%513d", 1)),
		"NUL":                 pglock.AcquireTx(t.Context(), tx, "a\x00"),
		"bad namespace":       pglock.TxLocker{Namespace: "\xff"}.Acquire(t.Context(), tx, "a"),
		"negative time-out":   pglock.TxLocker{IdleTimeout: -1}.Acquire(t.Context(), tx, "a"),
		"time-out of a week":  pglock.TxLocker{IdleTimeout: 7 * 24 * time.Hour}.TryAcquire(t.Context(), tx, "a"),
		"no transaction":      pglock.AcquireTx(t.Context(), nil, "a"),
		"no transaction, try": pglock.TryAcquireTx(t.Context(), nil, "a"),
		"a nil transaction":   pglock.AcquireTx(t.Context(), (*pgxpool.Tx)(nil), "a"),
	} {
		is(t, name, err, distlock.ErrInvalid)
	}
}

// isSQLState reports whether the server gave this answer.
func isSQLState(err error, code string) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == code
}
