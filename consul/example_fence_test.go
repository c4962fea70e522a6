package consul_test

import (
	"context"
	"errors"
	"log"

	"github.com/distlock-go/distlock"
	consullock "github.com/distlock-go/distlock/consul"
	"github.com/distlock-go/distlock/memory"
	"github.com/hashicorp/consul/api"
)

// Keep late holders away from an entry in Consul, whatever service has the locks.
func ExampleFence() {
	ctx := context.Background()
	consul, err := api.NewClient(api.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	client, err := distlock.New(memory.New()) // or any other
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	fence := consullock.NewFence(consul, consullock.FenceOptions{Source: "memory"})
	err = distlock.Do(ctx, client, "limit", func(ctx context.Context, lease *distlock.Lease) error {
		if err := fence.Advance(ctx, "limit", lease.Token()); err != nil { // before the first read
			return err
		}
		q := &api.QueryOptions{RequireConsistent: true}
		entry, _, err := consul.KV().Get("config/limit", q.WithContext(ctx))
		if err != nil {
			return err
		}
		next := []byte("1")
		if entry != nil {
			next = append(entry.Value, '0')
		}
		_, err = fence.Txn(ctx, "limit", lease.Token(), api.KVTxnOps{{Verb: api.KVSet, Key: "config/limit", Value: next}})
		return err
	})
	if errors.Is(err, distlock.ErrStale) {
		log.Print("came too late; somebody else has it now")
	}
}
