package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/distlock-go/distlock"
	pglock "github.com/distlock-go/distlock/postgres"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Run a function under a lock. The table was made by what pglock.Schema(nil) returns.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	client, err := distlock.New(pglock.New(pool, nil), distlock.WithTTL(30*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	err = distlock.Do(ctx, client, "invoice-77", func(ctx context.Context, lease *distlock.Lease) error {
		return nil // the work; ctx ends when the lease does
	})
	if errors.Is(err, distlock.ErrLost) {
		log.Print("somebody else may have done it too")
	}
}

// Require durable tokens: no standby is ever promoted that lacks a commit.
func ExampleOptions() {
	pool, err := pgxpool.New(context.Background(), "postgres://localhost/shop") // connects when it is used
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	for _, o := range []*pglock.Options{nil, {NoAsyncFailover: true}} {
		_, err := distlock.New(pglock.New(pool, o), distlock.RequireFencing(distlock.FencingDurable))
		fmt.Println(errors.Is(err, distlock.ErrNoFencing))
	}
	// Output:
	// true
	// false
}

// Print the migration, to be kept with those of one's own.
func ExampleSchema() {
	fmt.Print(pglock.Schema(&pglock.Options{Schema: "locks", Table: "tokens"}))
	// Output:
	// CREATE SCHEMA IF NOT EXISTS "locks";
	// -- The counters of distlock's tokens, a row a key. Rows are not to be changed by
	// -- hand. That of a key that nobody uses any more may be deleted: should it be used
	// -- again, its tokens go on from the server's clock.
	// CREATE TABLE IF NOT EXISTS "locks"."tokens" (
	//	id         bigint PRIMARY KEY,          -- of the advisory lock: a hash of namespace and key
	//	namespace  text NOT NULL,
	//	key        text NOT NULL,
	//	token      bigint NOT NULL,             -- of the last grant
	//	holder     text NOT NULL DEFAULT '',    -- of the last grant, or the last that a lock-delay kept out
	//	granted_at timestamptz NOT NULL,        -- likewise
	//	delay_ms   bigint NOT NULL DEFAULT 0,   -- the lock-delay that is owed if the holder is lost; 0 after a release
	//	free_at    timestamptz,                 -- the end of a lock-delay that runs
	//	pid        bigint NOT NULL DEFAULT 0,   -- the server process that has taken the lock last
	//	broken     boolean NOT NULL DEFAULT false -- that it is asked to let go again
	// ) WITH (fillfactor = 50);
}
