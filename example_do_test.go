package distlock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Run a function under a lock. The context that the function gets ends when
// the lease does, and the error tells whether the lease lasted to the end.
func ExampleDo() {
	ctx := context.Background()
	client, err := distlock.New(memory.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)

	err = distlock.Do(ctx, client, "invoice-77", func(ctx context.Context, lease *distlock.Lease) error {
		fmt.Println("pay", lease.Key(), "with token", lease.Token())
		return ctx.Err() // nil while the lease is valid
	})
	switch {
	case errors.Is(err, distlock.ErrLost):
		fmt.Println("somebody else may have paid too:", err)
	case err != nil:
		fmt.Println("not paid:", err)
	default:
		fmt.Println("paid")
	}
	// Output:
	// pay invoice-77 with token 1
	// paid
}
