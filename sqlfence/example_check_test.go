package sqlfence_test

import (
	"context"
	"database/sql"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/sqlfence"
)

var fence = sqlfence.New(sqlfence.Postgres, sqlfence.Options{Source: "etcd-eu"})

// A write under a lock: the check, what the write depends on, and the write are
// one transaction. ErrRetry, and what Commit may say in its stead, run it again;
// ErrStale does not.
func ExampleFence_Check() {
	debit := func(ctx context.Context, db *sql.DB, lease *distlock.Lease, amount int) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := fence.Check(ctx, tx, lease.Key(), lease.Token()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE account SET balance = balance - $1 WHERE name = $2", amount, lease.Key())
		if err != nil {
			return err
		}
		return tx.Commit()
	}
	_ = func(ctx context.Context, db *sql.DB, lease *distlock.Lease) error {
		for {
			err := debit(lease.Context(ctx), db, lease, 60)
			if !sqlfence.Postgres.Retryable(err) {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	}
}
