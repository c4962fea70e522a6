package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Stop cleanly while there is time: commit or roll back when renewals fail,
// rather than when the lease is over.
func ExampleWithLossWarning() {
	ctx := context.Background()
	backend := memory.New()
	client, _ := distlock.New(backend, distlock.WithTTL(300*time.Millisecond))
	defer client.Close(ctx)

	danger := make(chan struct{}, 1)
	err := distlock.Do(ctx, client, "import", func(_ context.Context, lease *distlock.Lease) error {
		backend.SetHooks(memory.Hooks{Before: func(context.Context, memory.Op, string) error { return errors.New("cut off") }})
		<-danger
		backend.SetHooks(memory.Hooks{})
		fmt.Println("stopped with the lock still ours:", lease.Valid())
		return nil
	}, distlock.WithLossWarning(func(*distlock.Lease) {
		select {
		case danger <- struct{}{}:
		default:
		}
	}))
	fmt.Println(err)
	// Output:
	// stopped with the lock still ours: true
	// <nil>
}
