package postgres_test

import (
	"context"
	"errors"
	"log"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var errPoor = errors.New("not enough money")

// debitLease holds a lease around the transaction. It is for work that is longer than
// a transaction, or that touches other things than this database. The fence in the
// write keeps out a holder that comes too late.
func debitLease(ctx context.Context, c *distlock.Client, pool *pgxpool.Pool, id string, amount int) error {
	return distlock.Do(ctx, c, "account/"+id, func(ctx context.Context, lease *distlock.Lease) error {
		var balance int
		if err := pool.QueryRow(ctx, "SELECT balance FROM example_account WHERE id = $1", id).Scan(&balance); err != nil {
			return err
		}
		if balance < amount {
			return errPoor
		}
		tag, err := pool.Exec(ctx, "UPDATE example_account SET balance = $1, fence = $2 WHERE id = $3 AND fence <= $2",
			balance-amount, int64(lease.Token()), id)
		if err == nil && tag.RowsAffected() == 0 {
			err = distlock.ErrStale
		}
		return err
	})
}

// debitTx holds the key for the length of a transaction. The rows it is about need not
// exist, nor be known beforehand. Nobody else is kept out but those who take the key.
func debitTx(ctx context.Context, pool *pgxpool.Pool, id string, amount int) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := pglock.AcquireTx(ctx, tx, "account/"+id); err != nil {
			return err
		}
		var balance int
		if err := tx.QueryRow(ctx, "SELECT balance FROM example_account WHERE id = $1", id).Scan(&balance); err != nil {
			return err
		}
		if balance < amount {
			return errPoor
		}
		_, err := tx.Exec(ctx, "UPDATE example_account SET balance = $1 WHERE id = $2", balance-amount, id)
		return err
	})
}

// debitRow locks the row itself: everybody who writes it waits, whether they know of
// this code or not. There must be a row.
func debitRow(ctx context.Context, pool *pgxpool.Pool, id string, amount int) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var balance int
		if err := tx.QueryRow(ctx, "SELECT balance FROM example_account WHERE id = $1 FOR UPDATE", id).Scan(&balance); err != nil {
			return err
		}
		if balance < amount {
			return errPoor
		}
		_, err := tx.Exec(ctx, "UPDATE example_account SET balance = $1 WHERE id = $2", balance-amount, id)
		return err
	})
}

// debitVersion locks nothing. It reads, works for as long as it likes, and writes only
// if nobody has written meanwhile; else it begins again. It is for rows that are
// seldom fought for.
func debitVersion(ctx context.Context, pool *pgxpool.Pool, id string, amount int) error {
	for {
		var balance, version int
		err := pool.QueryRow(ctx, "SELECT balance, version FROM example_account WHERE id = $1", id).Scan(&balance, &version)
		if err != nil {
			return err
		}
		if balance < amount {
			return errPoor
		}
		tag, err := pool.Exec(ctx, `UPDATE example_account SET balance = $1, version = version + 1
			WHERE id = $2 AND version = $3`, balance-amount, id, version)
		if err != nil || tag.RowsAffected() == 1 {
			return err
		}
		time.Sleep(rand.N(5 * time.Millisecond)) // so that those who meet do not meet again
	}
}

// Four ways to take money from an account only if it is there. Each is right; they
// differ in what they lock, and for how long.
func Example_tradeOff() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	client, err := distlock.New(pglock.New(pool, nil))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	for _, err := range []error{
		debitLease(ctx, client, pool, "7", 60),
		debitTx(ctx, pool, "7", 60),
		debitRow(ctx, pool, "7", 60),
		debitVersion(ctx, pool, "7", 60),
	} {
		if err != nil {
			log.Print(err)
		}
	}
}
