package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Bound how long one holder can keep a key, however well its renewals go: a
// job that hangs does not stop the others for ever.
func ExampleWithMaxHold() {
	ctx := context.Background()
	client, _ := distlock.New(memory.New())
	defer client.Close(ctx)

	err := distlock.Do(ctx, client, "import", func(ctx context.Context, _ *distlock.Lease) error {
		<-ctx.Done() // a job that hangs
		return context.Cause(ctx)
	}, distlock.WithMaxHold(50*time.Millisecond))
	fmt.Println("lost:", errors.Is(err, distlock.ErrLost))
	// Output:
	// lost: true
}

// Take a lock that nobody renews: it ends one TTL after the grant, whatever
// its holder does.
func ExampleWithoutRenewal() {
	ctx := context.Background()
	client, _ := distlock.New(memory.New())
	defer client.Close(ctx)

	lease, err := client.TryAcquire(ctx, "cooldown", distlock.WithTTL(50*time.Millisecond), distlock.WithoutRenewal())
	if err != nil {
		fmt.Println(err)
		return
	}
	<-lease.Done()
	fmt.Println("lost:", errors.Is(lease.Err(), distlock.ErrLost))
	// Output:
	// lost: true
}
