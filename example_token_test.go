package distlock_test

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Hand the token through code that knows nothing of locks: it travels in the
// context, and the store at the end takes it out again.
func ExampleTokenFromContext() {
	save := func(ctx context.Context, text string) {
		key, token, ok := distlock.TokenFromContext(ctx)
		if !ok {
			fmt.Println("save without a lock:", text)
			return
		}
		fmt.Printf("save under %s, token %v: %s\n", key, token, text)
	}

	ctx := context.Background()
	client, _ := distlock.New(memory.New())
	defer client.Close(ctx)
	save(ctx, "draft")
	err := distlock.Do(ctx, client, "page-3", func(ctx context.Context, _ *distlock.Lease) error {
		save(ctx, "final")
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// save without a lock: draft
	// save under page-3, token 1: final
}
