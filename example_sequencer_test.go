package distlock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// A service that can keep no mark asks the lock service who the holder is. It takes
// no lock for that.
func ExampleClient_CheckSequencer() {
	ctx := context.Background()
	locks := memory.New() // the same lock service on both sides
	worker, _ := distlock.New(locks)
	defer worker.Close(ctx)
	service, _ := distlock.New(locks)
	defer service.Close(ctx)

	lease, _ := worker.Acquire(ctx, "shelf-9")
	sent := lease.Sequencer() // goes along with the request
	fmt.Println("while held:", service.CheckSequencer(ctx, sent))
	lease.Release(ctx)
	fmt.Println("afterwards:", errors.Is(service.CheckSequencer(ctx, sent), distlock.ErrStale))
	// Output:
	// while held: <nil>
	// afterwards: true
}
