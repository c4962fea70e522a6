package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock"
	goredis "github.com/redis/go-redis/v9"
)

// connect returns a client for each of five servers.
func connect() (nodes []goredis.UniversalClient) {
	for i := range 5 {
		nodes = append(nodes, goredis.NewClient(&goredis.Options{Addr: fmt.Sprintf("redis-%d:6379", i+1)}))
	}
	return nodes
}

// Run a function under a lock on a majority of five servers.
func Example() {
	ctx := context.Background()
	nodes := connect()
	client, err := distlock.New(redlock.New(nodes, nil), distlock.WithTTL(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	if err := client.Ping(ctx); err != nil { // also tells if two nodes are the same server
		log.Fatal(err)
	}
	err = distlock.Do(ctx, client, "nightly-report", func(ctx context.Context, lease *distlock.Lease) error {
		return nil // the work; ctx ends when the lease does
	})
	if errors.Is(err, distlock.ErrLost) {
		log.Print("somebody else may have done it too")
	}
}
