package distlock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Keep a holder that was paused past its lease from changing the resource: the
// resource remembers the largest token it has seen and refuses smaller ones.
func ExampleFence() {
	ctx := context.Background()
	service := memory.New()
	a, _ := distlock.New(service)
	defer a.Close(ctx)
	b, _ := distlock.New(service)
	defer b.Close(ctx)

	var fence distlock.Fence // at the resource: one for all who write to it
	stock := 10
	take := func(who string, lease *distlock.Lease, n int) {
		err := fence.Do(lease.Key(), lease.Token(), func() error {
			stock -= n
			return nil
		})
		fmt.Printf("%s takes %d: stock %d, stale %t\n", who, n, stock, errors.Is(err, distlock.ErrStale))
	}

	old, _ := a.Acquire(ctx, "shelf")
	take("a", old, 1)
	take("a", old, 1) // a holder writes as often as it likes

	service.Expire("shelf") // a was cut off, and has not noticed yet
	lease, _ := b.Acquire(ctx, "shelf")

	// A new holder shows its token before it reads, so that no write that is
	// still under way can come between its read and its write.
	if err := fence.Advance(lease.Key(), lease.Token()); err != nil {
		fmt.Println(err)
	}
	seen := stock
	take("a", old, 5)
	take("b", lease, seen)
	// Output:
	// a takes 1: stock 9, stale false
	// a takes 1: stock 8, stale false
	// a takes 5: stock 8, stale true
	// b takes 8: stock 0, stale false
}
