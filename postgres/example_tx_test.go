package postgres_test

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Take a lock for the length of a transaction, and do something else where somebody
// has it.
func ExampleTryAcquireTx() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := pglock.TryAcquireTx(ctx, tx, "nightly-report"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO report SELECT now(), count(*) FROM orders")
		return err // the commit ends the lock
	})
	if errors.Is(err, distlock.ErrHeld) {
		log.Print("somebody else is at it")
	}
}

// Lock several keys in one call, which never waits in a circle with another one.
func ExampleTxLocker() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	locks := pglock.TxLocker{Namespace: "shop", IdleTimeout: 10 * time.Second}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := locks.Acquire(ctx, tx, "account/7", "account/3"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE account SET balance = balance + CASE id WHEN 7 THEN -60 ELSE 60 END
			WHERE id IN (3, 7)`)
		return err
	})
	if err != nil {
		log.Print(err)
	}
}
