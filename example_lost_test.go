package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Stop working when the lock is lost. Here the service drops the key behind
// the holder's back; the next renewal finds that out.
func ExampleLease_Context() {
	ctx := context.Background()
	service := memory.New()
	client, _ := distlock.New(service, distlock.WithTTL(60*time.Millisecond))
	defer client.Close(ctx)

	lease, err := client.Acquire(ctx, "crawl")
	if err != nil {
		fmt.Println(err)
		return
	}
	work := lease.Context(ctx) // for every call made under the lock
	service.Expire("crawl")

	<-work.Done()
	fmt.Println("work:", work.Err())
	fmt.Println("why:", context.Cause(work))
	fmt.Println("valid:", lease.Valid())
	fmt.Println("release says so too:", errors.Is(lease.Release(ctx), distlock.ErrLost))
	// Output:
	// work: context canceled
	// why: distlock: hold "crawl" (memory): lease lost
	// valid: false
	// release says so too: true
}
