package postgres_test

import (
	"context"
	"errors"
	"log"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Keep late holders away, in the transaction that writes. The table of marks is made
// by what fence.Schema returns.
func ExampleFence() {
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

	fence := pglock.NewFence(pglock.FenceOptions{Source: "postgres-shop"})
	err = distlock.Do(ctx, client, "account-7", func(ctx context.Context, lease *distlock.Lease) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if err := fence.Advance(ctx, tx, "account-7", lease.Token()); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "UPDATE account SET balance = balance - 60 WHERE id = 7")
			return err
		})
	})
	if errors.Is(err, distlock.ErrStale) {
		log.Print("came too late; somebody else has the account now")
	}
}
