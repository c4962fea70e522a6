package distlock_test

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Shut down: Close tells functions that run under a lock to stop, waits for
// them while their leases are still renewed, and then gives up what is left.
func ExampleClient_Close() {
	ctx := context.Background()
	client, _ := distlock.New(memory.New())

	started, done := make(chan struct{}), make(chan error)
	go func() {
		done <- distlock.Do(ctx, client, "queue-4", func(ctx context.Context, _ *distlock.Lease) error {
			close(started)
			<-ctx.Done()
			fmt.Println("stopping:", context.Cause(ctx))
			return nil
		})
	}()
	<-started
	fmt.Println("close:", client.Close(ctx)) // ctx bounds how long it waits
	fmt.Println("do:", <-done)

	_, err := client.TryAcquire(ctx, "queue-4")
	fmt.Println(err)
	// Output:
	// stopping: lease released
	// close: <nil>
	// do: <nil>
	// distlock: acquire "queue-4" (memory): client closed
}
