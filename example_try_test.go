package distlock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Do the work if nobody else does, and skip it otherwise: a job that several
// machines start at the same time.
func ExampleClient_TryAcquire() {
	ctx := context.Background()
	service := memory.New()
	here, _ := distlock.New(service)
	defer here.Close(ctx)
	elsewhere, _ := distlock.New(service)
	defer elsewhere.Close(ctx)

	lease, err := here.TryAcquire(ctx, "nightly-report")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("here: running with token", lease.Token())

	_, err = elsewhere.TryAcquire(ctx, "nightly-report")
	if errors.Is(err, distlock.ErrHeld) {
		fmt.Println("elsewhere: skipped:", err)
	}

	if err := lease.Release(ctx); err != nil {
		fmt.Println(err)
	}
	lease, err = elsewhere.TryAcquire(ctx, "nightly-report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release(ctx)
	fmt.Println("elsewhere: running with token", lease.Token())
	// Output:
	// here: running with token 1
	// elsewhere: skipped: distlock: acquire "nightly-report" (memory): held by another owner
	// elsewhere: running with token 2
}
