package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Wait for a lock, but not for ever. The error says both that the key was held
// and that the caller's own time was up.
func ExampleClient_Acquire() {
	ctx := context.Background()
	client, _ := distlock.New(memory.New())
	defer client.Close(ctx)

	first, err := client.Acquire(ctx, "migration")
	if err != nil {
		fmt.Println(err)
		return
	}

	wait, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = client.Acquire(wait, "migration")
	fmt.Println("held:", errors.Is(err, distlock.ErrHeld))
	fmt.Println("out of time:", errors.Is(err, context.DeadlineExceeded))

	if err := first.Release(ctx); err != nil {
		fmt.Println(err)
	}
	wait, cancel = context.WithTimeout(ctx, time.Second)
	lease, err := client.Acquire(wait, "migration")
	cancel() // the wait is over; the lease lives on
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release(ctx)
	fmt.Println("valid:", lease.Valid())
	// Output:
	// held: true
	// out of time: true
	// valid: true
}
