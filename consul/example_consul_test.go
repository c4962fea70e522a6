package consul_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/hashicorp/consul/api"
)

// Run a function under a lock, by way of the local agent.
func Example() {
	ctx := context.Background()
	consul, err := api.NewClient(api.DefaultConfig()) // CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN, …
	if err != nil {
		log.Fatal(err)
	}
	client, err := distlock.New(consullock.New(consul, nil), distlock.WithTTL(30*time.Second))
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

// What the servers' session_ttl_min does not allow is refused before anything
// is sent, unless Options say that it was lowered.
func ExampleOptions() {
	consul, err := api.NewClient(api.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	_, err = distlock.New(consullock.New(consul, nil), distlock.WithTTL(5*time.Second))
	fmt.Println(err)

	lowered := &consullock.Options{Prefix: "locks/billing/", MinTTL: 2 * time.Second}
	_, err = distlock.New(consullock.New(consul, lowered), distlock.WithTTL(5*time.Second))
	fmt.Println(err)
	// Output:
	// distlock: new (consul): invalid argument: TTL is 5s, must be between 10s and 24h0m0s
	// <nil>
}

// Free a dead holder's key sooner: by default Consul delays the next grant by
// 15 s after the session has ended, which itself takes up to twice the TTL.
func ExampleNew_lockDelay() {
	consul, err := api.NewClient(api.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	client, err := distlock.New(consullock.New(consul, nil),
		distlock.WithTTL(10*time.Second),
		distlock.WithLockDelay(0), // 21 s at the latest; the resource must check tokens
		distlock.RequireFencing(distlock.FencingDurable))
	fmt.Println(err)
	defer client.Close(context.Background())
	// Output: <nil>
}

// Write to the same datacenter only while the lock is held.
func ExampleHeld() {
	ctx := context.Background()
	consul, err := api.NewClient(api.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	client, err := distlock.New(consullock.New(consul, nil))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	err = distlock.Do(ctx, client, "config", func(ctx context.Context, lease *distlock.Lease) error {
		ok, _, _, err := consul.KV().Txn(api.KVTxnOps{
			consullock.Held(lease),
			{Verb: api.KVSet, Key: "config/limit", Value: []byte("100")},
		}, new(api.QueryOptions).WithContext(ctx))
		if err == nil && !ok {
			err = distlock.ErrLost
		}
		return err
	})
	if errors.Is(err, distlock.ErrLost) {
		log.Print("nothing was written")
	}
}
