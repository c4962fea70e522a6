package distlock_test

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Lead for as long as possible, and again after a loss, until ctx ends.
func ExampleCampaign() {
	ctx, cancel := context.WithCancel(context.Background())
	backend := memory.New()
	client, _ := distlock.New(backend)
	defer client.Close(context.Background())

	err := distlock.Campaign(ctx, client, "scheduler", func(ctx context.Context, lease *distlock.Lease) error {
		fmt.Println("leading, token", lease.Token())
		if lease.Token() == 1 {
			backend.Expire(lease.Key()) // as if we had been cut off
		} else {
			cancel() // as a signal would
		}
		<-ctx.Done() // stop leading before the next one begins
		return nil
	})
	fmt.Println("ended:", err)
	// Output:
	// leading, token 1
	// leading, token 2
	// ended: <nil>
}
