package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/absent"
	"github.com/distlock-go/distlock/internal/round"
	"github.com/jackc/pgx/v5"
)

// A TxLocker takes the locks of keys for the length of a transaction of the
// caller's. The zero value is ready. It is safe for concurrent use, as far as
// the transactions are.
//
// This is the form to prefer where the database itself is the resource: the
// commit that writes the data ends the lock, so that no token is needed, and no
// lease to be renewed. It works behind a pooler in transaction mode. The locks
// are those of a Backend with the same namespace: a transaction and a lease on
// the same key exclude each other. Of that Backend's table it knows nothing: it
// mints no token and waits for no lock-delay.
//
// What it cannot do: a transaction under REPEATABLE READ or SERIALIZABLE sees the
// data as of its first statement. If that is the one that waits for the lock,
// it does not see what the holder before it wrote, and fails with SQLSTATE 40001
// only if it writes the same rows. Use READ COMMITTED, the default, or a lease
// that is acquired before the transaction begins.
type TxLocker struct {
	// Namespace is that of Options.
	Namespace string
	// IdleTimeout, if not 0, is set as idle_in_transaction_session_timeout of
	// the transaction once it has its locks: should the client stay silent for
	// that long between two statements, the server ends its connection, and so the
	// transaction and its locks. It counts in milliseconds. 0 leaves the setting as it is.
	IdleTimeout time.Duration
}

// AcquireTx is Acquire of the zero TxLocker.
func AcquireTx(ctx context.Context, tx pgx.Tx, keys ...string) error {
	return TxLocker{}.Acquire(ctx, tx, keys...)
}

// TryAcquireTx is TryAcquire of the zero TxLocker.
func TryAcquireTx(ctx context.Context, tx pgx.Tx, keys ...string) error {
	return TxLocker{}.TryAcquire(ctx, tx, keys...)
}

// Acquire waits for the locks of all keys. On nil, tx has them until it ends, by
// commit, by rollback, by rollback to a savepoint that was set before, or by the
// loss of its connection. On an error that matches distlock.ErrInvalid nothing was
// sent: tx is nil, or something else is out of its bounds. On any other error tx is
// void: roll it back. If ctx ends, pgx closes the connection, and the locks are free
// once the server has noticed.
//
// Keys are locked in the order of their numbers (see ID), so that calls with
// several keys never wait for each other in a circle; two calls in one
// transaction can. Waiters are served in the order in which they came. A waiter
// has a connection and holds a snapshot: it keeps VACUUM from cleaning up, and
// CREATE INDEX CONCURRENTLY waits for it.
func (l TxLocker) Acquire(ctx context.Context, tx pgx.Tx, keys ...string) error {
	return failed("acquire", keys, l.acquire(ctx, tx, keys))
}

func (l TxLocker) acquire(ctx context.Context, tx pgx.Tx, keys []string) error {
	ids, err := l.ids(tx, keys)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(id) FROM unnest($1::bigint[]) AS a (id)", ids); err != nil {
		return err
	}
	return l.limitIdle(ctx, tx)
}

// TryAcquire takes the locks of all keys if nobody has any, without waiting. On
// nil, tx has them as after Acquire. On an error that matches distlock.ErrHeld
// it has none of them that it did not have before, and goes on. Other errors are
// as those of Acquire.
func (l TxLocker) TryAcquire(ctx context.Context, tx pgx.Tx, keys ...string) error {
	return failed("try to acquire", keys, l.tryAcquire(ctx, tx, keys))
}

func (l TxLocker) tryAcquire(ctx context.Context, tx pgx.Tx, keys []string) error {
	ids, err := l.ids(tx, keys)
	if err != nil {
		return err
	}
	ok, err := false, error(nil)
	if len(ids) == 1 {
		ok, err = tryAll(ctx, tx, ids)
	} else {
		ok, err = allOrNone(ctx, tx, ids)
	}
	switch {
	case err != nil:
		return err
	case !ok:
		return distlock.ErrHeld
	}
	return l.limitIdle(ctx, tx)
}

// allOrNone is tryAll that keeps no lock if one cannot be had: going back to a
// savepoint frees what was locked since.
func allOrNone(ctx context.Context, tx pgx.Tx, ids []int64) (bool, error) {
	save, err := tx.Begin(ctx)
	if err != nil {
		return false, err
	}
	ok, err := tryAll(ctx, save, ids)
	switch {
	case err != nil:
		return false, err
	case !ok:
		return false, save.Rollback(ctx)
	}
	return true, save.Commit(ctx)
}

func tryAll(ctx context.Context, tx pgx.Tx, ids []int64) (ok bool, err error) {
	err = tx.QueryRow(ctx, "SELECT bool_and(pg_try_advisory_xact_lock(id)) FROM unnest($1::bigint[]) AS a (id)", ids).Scan(&ok)
	return ok, err
}

func (l TxLocker) limitIdle(ctx context.Context, tx pgx.Tx) error {
	if l.IdleTimeout == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, "SELECT set_config('idle_in_transaction_session_timeout', $1, true)",
		strconv.FormatInt(round.Up(l.IdleTimeout, time.Millisecond).Milliseconds(), 10))
	return err
}

// ids checks what both methods are given, and returns the numbers of keys, sorted.
func (l TxLocker) ids(tx pgx.Tx, keys []string) ([]int64, error) {
	if err := checkTx(tx); err != nil {
		return nil, err
	}
	ns := cmp.Or(l.Namespace, DefaultNamespace)
	if err := checkNamespace(ns); err != nil {
		return nil, err
	}
	if l.IdleTimeout < 0 || l.IdleTimeout > MaxTTL {
		return nil, distlock.Invalid("idle time-out", l.IdleTimeout, fmt.Sprintf("between 0 and %v", MaxTTL))
	}
	if len(keys) == 0 {
		return nil, distlock.Invalid("number of keys", 0, "at least 1")
	}
	ids := make([]int64, len(keys))
	for i, key := range keys {
		if err := distlock.CheckKey(key); err != nil {
			return nil, err
		}
		ids[i] = ID(ns, key)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// checkTx is the error of a transaction that is none.
func checkTx(tx pgx.Tx) error {
	if absent.Is(tx) {
		return distlock.Invalid("transaction", "nil", "one that has begun")
	}
	return nil
}

// failed wraps the error of a call, once.
func failed(op string, keys []string, err error) error {
	if err == nil {
		return nil
	}
	e := &distlock.Error{Op: op, Backend: "postgres", Err: err}
	if len(keys) > 0 {
		e.Key = keys[0]
	}
	return e
}
