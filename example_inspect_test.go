package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// A lock hangs. An operator looks who has it, and breaks it, if that one still has
// it when the order arrives.
func ExampleClient_Break() {
	ctx := context.Background()
	service := memory.New() // in life: the lock service that all use
	worker, _ := distlock.New(service, distlock.WithTTL(100*time.Millisecond), distlock.WithHolder("web-3/4711"))
	defer worker.Close(ctx)
	lease, err := worker.Acquire(ctx, "invoice-77")
	if err != nil {
		fmt.Println(err)
		return
	}

	operator, _ := distlock.New(service)
	defer operator.Close(ctx)
	info, err := operator.Inspect(ctx, "invoice-77")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("held:", info.Held, "by", info.Holder, "with token", info.Token)
	fmt.Println("broken:", operator.Break(ctx, "invoice-77", info.Token))

	<-lease.Done() // the worker hears of it at its next renewal
	fmt.Println("the worker's lease is lost:", errors.Is(lease.Err(), distlock.ErrLost))
	info, err = operator.Inspect(ctx, "invoice-77")
	fmt.Println("held:", info.Held, err)
	// Output:
	// held: true by web-3/4711 with token 1
	// broken: <nil>
	// the worker's lease is lost: true
	// held: false <nil>
}
