// Migrate brings a schema up to date at the start of every replica of a
// service: one of them does it, the others wait until it is done.
//
//	go run ./examples/migrate -redis 127.0.0.1:6379
//
// Where the database itself can lock (PostgreSQL), prefer its own lock in the
// migration's transaction. This is for stores that cannot.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
	redislock "github.com/distlock-go/distlock/redis"
)

func main() {
	addr := flag.String("redis", "", "lock on the Redis at `HOST:PORT`")
	flag.Parse()
	var backend distlock.Backend = memory.New()
	if *addr != "" {
		rdb := goredis.NewClient(&goredis.Options{Addr: *addr})
		defer rdb.Close()
		backend = redislock.New(rdb, nil)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // a start that takes longer has failed
	defer cancel()
	db := new(store)
	if err := migrate(ctx, backend, db); err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		os.Exit(1)
	}
	fmt.Println("the schema has version", db.current())
}

// migrate returns when db has the newest version, whoever has done it.
func migrate(ctx context.Context, b distlock.Backend, db *store) error {
	client, err := distlock.New(b, distlock.RequireFencing(distlock.FencingBestEffort))
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	return distlock.Do(ctx, client, "examples/migrate", func(ctx context.Context, lease *distlock.Lease) error {
		done, err := db.takeOver(lease) // after this, what an earlier holder sends late is refused
		if err != nil {
			return err
		}
		for v := done; v < len(steps); v++ {
			if err := ctx.Err(); err != nil {
				return err // the lease has ended: somebody else goes on from here
			}
			if err := db.apply(lease, v, steps[v]); err != nil {
				return err
			}
		}
		return nil
	})
}
