package distlock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Give the last writes of a lost holder time to arrive before the next holder
// begins, where the resource cannot check a token. A clean release costs no
// delay.
func ExampleWithLockDelay() {
	ctx := context.Background()
	client, _ := distlock.New(memory.New(), distlock.WithLockDelay(100*time.Millisecond))
	defer client.Close(ctx)

	lease, err := client.Acquire(ctx, "valve", distlock.WithTTL(50*time.Millisecond), distlock.WithoutRenewal())
	if err != nil {
		fmt.Println(err)
		return
	}
	lost := lease.Deadline() // one TTL after the grant

	next, err := client.Acquire(ctx, "valve")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer next.Release(ctx)
	fmt.Println("after the delay:", time.Since(lost) >= 100*time.Millisecond)
	// Output:
	// after the delay: true
}
